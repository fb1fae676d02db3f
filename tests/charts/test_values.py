"""Requirements of clusters: peers under any release name, scheduling, registry secrets, ingress, egress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tools.generate.charts import schemas
from tools.generate.files import list_stale

from classifeed_common.fetch.addresses import networks, urls
from tests.charts.conftest import SERVICES, Manifests

Render = Callable[..., Manifests]
# The first build of helm on a machine takes minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

_VALUES: dict[str, Any] = {
    "imagePullSecrets": [{"name": "registry"}],
    "pod": {
        "labels": {"team": "feeds"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
        ],
        "priorityClassName": "high",
        "extraEnv": [{"name": "GOOD", "value": "1"}],
        "extraEnvFrom": [{"configMapRef": {"name": "further"}}],
        "extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/etc/ca"}],
    },
    "serviceAccount": {"annotations": {"cloud.example/role": "feeds"}},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "ingress": {
        "enabled": True,
        "host": "feeds.example",
        "className": "nginx",
        "tlsSecret": "feeds-tls",
        "annotations": {"cert.example/issuer": "main"},
    },
}


def services_of(manifests: Manifests) -> set[str]:
    return {each["metadata"]["name"] for each in manifests if each["kind"] == "Service"}


def peers_of(manifests: Manifests) -> Iterator[str]:
    for each in manifests:
        if each["kind"] == "ConfigMap":
            for name, value in each["data"].items():
                if name.endswith("_ADDRESS") and value.startswith("dns:///"):
                    yield value.removeprefix("dns:///").removesuffix(":9090")


def pods_of(manifests: Manifests) -> Iterator[dict[str, Any]]:
    for each in manifests:
        if each["kind"] in {"Deployment", "StatefulSet", "Job"}:
            yield each["spec"]["template"]


@pytest.mark.parametrize("release", ["shop", "api", "classifeed", "my-processor"])
def test_peers_of_the_umbrella_are_its_services(render: Render, release: str) -> None:
    manifests = render("classifeed", release=release)
    names = services_of(manifests)
    assert len(names) == len(SERVICES)
    peers = set(peers_of(manifests))
    assert peers
    assert peers <= names


def test_peers_of_charts_with_releases_of_their_own_are_their_services(render: Render) -> None:
    alone = [render(chart, release=f"r{number}") for number, chart in enumerate(SERVICES)]
    alone[0] = render(SERVICES[0], release=SERVICES[0])
    names = set().union(*map(services_of, alone))
    peers = {peer for manifests in alone for peer in peers_of(manifests)}
    assert peers
    assert peers <= names


def test_two_suites_in_one_namespace_share_no_name(render: Render) -> None:
    first = render("classifeed", release="one")
    second = render("classifeed", "global.servicePrefix=two-", release="two")
    names = [{(each["kind"], each["metadata"]["name"]) for each in manifests} for manifests in (first, second)]
    assert not names[0] & names[1]
    assert set(peers_of(second)) <= services_of(second)


@pytest.mark.parametrize("chart", SERVICES)
def test_what_clusters_ask_for_reaches_every_pod(render: Render, tmp_path: Path, chart: str) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(_VALUES))
    manifests = render(chart, values=values)
    for manifest in manifests:
        if manifest["kind"] not in {"ServiceMonitor", "PodMonitor", "PrometheusRule"}:
            kubernetes_validate.validate(manifest, "1.34", strict=True)
    pods = list(pods_of(manifests))
    assert pods
    given = _VALUES["pod"]
    for pod in pods:
        spec = pod["spec"]
        [container] = spec["containers"]
        assert spec["imagePullSecrets"] == _VALUES["imagePullSecrets"]
        assert all(spec[name] == given[name] for name in ("nodeSelector", "tolerations", "affinity"))
        assert spec["priorityClassName"] == "high"
        assert {"name": "GOOD", "value": "1"} in container["env"]
        assert {"configMapRef": {"name": "further"}} in container["envFrom"]
        assert given["extraVolumes"][0] in spec["volumes"]
        assert given["extraVolumeMounts"][0] in container["volumeMounts"]
        if spec.get("restartPolicy") != "Never":  # a pod of a role
            assert pod["metadata"]["labels"]["team"] == "feeds"
            assert given["topologySpreadConstraints"][0] in spec["topologySpreadConstraints"]
    by_kind = {each["kind"]: each for each in manifests}
    assert by_kind["ServiceAccount"]["metadata"]["annotations"] == {"cloud.example/role": "feeds"}
    assert by_kind["ServiceMonitor"]["metadata"]["labels"]["release"] == "prometheus"
    [rule] = by_kind["Ingress"]["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert (rule["host"], backend["name"]) == ("feeds.example", f"classifeed-{chart}")
    config = by_kind["ConfigMap"]["data"]
    assert "feeds.example" in config[f"CLASSIFEED_{chart.upper()}_HTTP_HOSTS"].split(",")


@pytest.mark.parametrize("chart", SERVICES)
def test_pods_call_their_peers_and_servers_and_nobody_else(render: Render, chart: str) -> None:
    manifests = render(chart)
    [policy] = [each for each in manifests if each["kind"] == "NetworkPolicy"]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    rules = policy["spec"]["egress"]
    named = {
        peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"]
        for rule in rules
        for peer in rule.get("to", [])
        if peer.get("podSelector") and "namespaceSelector" not in peer
    }
    assert {f"classifeed-{name}" for name in named} == set(peers_of(manifests))
    blocks = [peer["ipBlock"] for rule in rules for peer in rule.get("to", []) if "ipBlock" in peer]
    assert bool(blocks) == (chart in {"loader", "pictures"}), "only these fetch links of sellers"
    assert all(rule.get("to") and rule["ports"] for rule in rules), "no rule allows all destinations or all ports"
    [servers] = [rule for rule in rules if rule["to"] == [{"podSelector": {}}]]
    assert {"port": 4317} in servers["ports"]
    assert (
        "egress"
        not in next(
            each for each in render(chart, "networkPolicy.egress.enabled=false") if each["kind"] == "NetworkPolicy"
        )["spec"]
    )


def test_internet_is_what_the_fetcher_takes_for_it(render: Render) -> None:
    [policy] = [each for each in render("loader") if each["kind"] == "NetworkPolicy"]
    [rule] = [rule for rule in policy["spec"]["egress"] if "ipBlock" in rule["to"][0]]
    v4, v6 = (peer["ipBlock"] for peer in rule["to"])
    assert (v4["cidr"], set(v4["except"])) == ("0.0.0.0/0", set(map(str, networks._SPECIAL_V4)))
    assert (v6["cidr"], set(v6["except"])) == (str(networks._UNICAST_V6), set(map(str, networks._SPECIAL_V6)))
    for each in rule["ports"]:
        urls.check_port(each["port"])
    assert {each["port"] for each in rule["ports"]} == {80, 443}


def test_servers_elsewhere_are_called_where_the_values_say(render: Render, tmp_path: Path) -> None:
    to = [{"ipBlock": {"cidr": "10.20.0.0/24"}}]
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({"networkPolicy": {"egress": {"to": to}}}))
    [policy] = [each for each in render("offers", values=values) if each["kind"] == "NetworkPolicy"]
    [servers] = [rule for rule in policy["spec"]["egress"] if {"port": 5432} in rule["ports"]]
    assert servers["to"] == to


@pytest.mark.parametrize("chart", SERVICES)
def test_digest_of_an_image_wins_over_its_tag(render: Render, chart: str) -> None:
    digest = "sha256:" + "a" * 64

    def images(*settings: str) -> set[str]:
        manifests = render(chart, "image.repository=registry.example/x", "image.tag=1.2", *settings)
        return {container["image"] for pod in pods_of(manifests) for container in pod["spec"]["containers"]}

    assert images() == {"registry.example/x:1.2"}
    assert images(f"image.digest={digest}") == {f"registry.example/x@{digest}"}
    with pytest.raises(ValueError, match="digest"):
        images("image.digest=latest")


def test_schemas_are_made_from_one() -> None:
    assert list_stale(schemas.list_files()) == [], "run `make stubs`"
