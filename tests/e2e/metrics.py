"""Checks the metrics that a running service exports."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tools.pages.metrics import LIBRARY_PREFIXES, declared_by

from classifeed_common.telemetry.metric_set import Declaration
from tests.e2e.suite import Suite


def check_metrics(suite: Suite, service: str) -> None:
    """Check that a service exports exactly the metrics that the page has for it."""
    declared, shown = declared_by(service), set()
    for family in text_string_to_metric_families(suite.http(service, "/metrics")):
        name = family.name + "_total" * (family.type == "counter")
        if not name.startswith(LIBRARY_PREFIXES) and not name.endswith("_created"):
            assert name in declared, (service, name)
            _check_labels(declared[name], family.samples)
            shown.add(name)
    assert shown == declared.keys(), service


def _check_labels(one: Declaration, samples: list[Sample]) -> None:
    """Check that labels are declared, and their values, too, where the declaration lists them."""
    for sample in samples:
        assert sample.labels.keys() - {"le"} == one.labels.keys(), sample
        for label, values in one.labels.items():
            assert isinstance(values, str) or sample.labels[label] in values, sample
