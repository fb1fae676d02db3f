"""Network policies allow exactly the callers in the table of methods and callers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import yaml

from classifeed_common.auth.policy import OPERATOR, SERVICE
from classifeed_domain.policy import CALLERS
from tests.charts.conftest import ROOT, SERVICES, Manifests

_ADDED = re.compile(r"\badd_(\w+)Servicer_to_server\b")
_LABELS = {OPERATOR: "operator-tools"}


def served_by(service: str) -> set[str]:
    """Return the gRPC services that a service serves."""
    sources = (ROOT / f"services/{service}/src/classifeed_{service}").rglob("*.py")
    text = "\n".join(source.read_text("utf-8") for source in sources)
    return set(_ADDED.findall(text)) | ({"JobService"} if "ServiceJobs(" in text else set())


def callers_of(service: str) -> set[str]:
    """Return the pod labels of the services that may call a method of a service."""
    served = served_by(service)
    callers = {
        caller
        for method, allowed in CALLERS.items()
        for caller in allowed
        if method.split("/")[1].rpartition(".")[2] in served
    }
    # `service` is the key for manual tests, from the pods of the operator's tools.
    return {_LABELS.get(caller, caller) for caller in callers - {SERVICE}}


def test_every_method_of_the_table_is_served_by_some_chart() -> None:
    served = {name for service in SERVICES for name in served_by(service)}
    assert {method.split("/")[1].rpartition(".")[2] for method in CALLERS} == served


@pytest.mark.parametrize("service", SERVICES)
def test_callers_in_the_values_are_those_of_the_table(service: str) -> None:
    values = yaml.safe_load((ROOT / f"helm/{service}/values.yaml").read_text("utf-8"))
    callers = values["networkPolicy"]["callers"]
    assert len(callers) == len(set(callers))
    assert set(callers) == callers_of(service)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("service", SERVICES)
def test_network_policy_lets_the_callers_in_to_grpc(render: Callable[..., Manifests], service: str) -> None:
    [policy] = [each for each in render(service) if each["kind"] == "NetworkPolicy"]
    [grpc] = [rule for rule in policy["spec"]["ingress"] if rule["ports"] == [{"port": "grpc"}]]
    let_in = [peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for peer in grpc["from"]]
    assert set(let_in) == callers_of(service)
