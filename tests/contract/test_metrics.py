"""Every metric is declared, has our prefix or the name of a standard, and is on the page of metrics."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase
from tests.docs.pages import ROOT
from tools.checks import reasons
from tools.pages import metrics

from classifeed_common.telemetry.metric_set import PREFIX, Declaration, MetricSet

_MAKES = re.compile(r"from prometheus_client import .*\b(Counter|Gauge|Histogram|Summary|Info|Enum)\b")

# A name that ends in `_*` means several metrics.
_NAME = re.compile(rf"\b{PREFIX}[a-z0-9_]*[a-z0-9]\b(?!_)")


def declared() -> dict[str, Declaration]:
    return {each.name: each for source in metrics.SOURCES for each in source.declarations}


def registered() -> dict[str, str]:
    """Return the type of each metric of all services, by the name that is scraped."""
    for service in metrics.SERVICES:
        import_module(f"classifeed_{service}.bootstrap")
    shown = [metric for metric in REGISTRY.collect() if not metric.name.startswith(metrics.LIBRARY_PREFIXES)]
    return {metric.name + "_total" * (metric.type == "counter"): metric.type for metric in shown}


def test_every_metric_of_every_service_is_declared_and_every_declared_one_is_there() -> None:
    ours = {name for name, each in declared().items() if not each.standard}
    shown = registered()
    assert {name: kind for name, kind in shown.items() if name in declared()} == {
        name: each.kind for name, each in declared().items()
    }
    assert {name for name in shown if name.startswith(PREFIX)} == ours
    assert {name for name in shown if not name.startswith(PREFIX)} == {
        "rpc_server_call_duration_seconds", "http_server_request_duration_seconds",
        "requests_total", "responses_total", "duration_ms",
    }  # fmt: skip


def test_labels_are_those_that_are_declared_and_none_grows_with_the_use() -> None:
    registered()
    names = {
        collector._name + "_total" * (collector._type == "counter"): collector._labelnames
        for collector in REGISTRY._collector_to_names
        if isinstance(collector, MetricWrapperBase)
    }
    for name, each in declared().items():
        assert names.get(name, tuple(each.labels)) == tuple(each.labels), name
        assert not {"seller", "namespace", "task_id", "url", "host", "job_id"} & each.labels.keys(), name


def test_metrics_are_made_by_their_declarations_alone() -> None:
    made = [path.relative_to(ROOT).as_posix() for path in reasons.sources() if _MAKES.search(path.read_text("utf-8"))]
    # The second module takes gauges as arguments.
    assert made == [
        "libs/common/src/classifeed_common/telemetry/metric_set.py",
        "libs/common/src/classifeed_common/telemetry/metrics.py",
    ]


def test_names_in_alerts_and_documents_are_those_of_metrics() -> None:
    pages = [
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "helm").rglob("*.tpl"),
    ]
    packages = {path.name for path in ROOT.glob("*/*/src/*")} | {"classifeed_cli"}
    named = {name for page in pages for name in _NAME.findall(page.read_text("utf-8"))} - packages
    known = {name + suffix for name in declared() for suffix in ("", "_count", "_sum", "_bucket")}
    assert "classifeed_loads_held_oldest_age_seconds" in named
    assert named - known == set()


@pytest.mark.parametrize("name", ["loads_total", "classifeed_loads"])
def test_names_without_the_prefix_or_the_suffix_of_a_counter_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name of a"):
        MetricSet().counter(name, "Loads.", unit="loads")
