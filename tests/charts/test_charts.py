"""The manifests that the charts render."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from prometheus_client import Gauge
from pydantic_settings import BaseSettings

from classifeed_jobs.metrics import SCHEDULE_AGE
from classifeed_moderation.parts.judging import CHECK_INTERVAL_S
from classifeed_moderation.settings import ModerationSettings
from classifeed_processor.metrics import OLDEST_HELD
from tests.charts.conftest import ROOT, SERVICES, Manifests

Render = Callable[..., Manifests]
# The first build of helm on a machine takes minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
_OTHERS = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}  # kinds of the Prometheus operator, not of Kubernetes
_SETS = ((), ("serviceMonitor.enabled=true", "migrations.hooks=false", "image.digest=sha256:" + "a" * 64))


def name_of(gauge: Gauge) -> str:
    [metric] = gauge.describe()
    return str(metric.name)


def has_migrations(chart: str) -> bool:
    """Return whether a service has migrations."""
    values = yaml.safe_load((ROOT / "helm" / chart / "values.yaml").read_text("utf-8"))
    return bool(values["migrations"]["enabled"])


def workloads(manifests: Manifests) -> list[dict[str, Any]]:
    return [each for each in manifests if each["kind"] in {"Deployment", "StatefulSet", "Job"}]


def containers(workload: dict[str, Any]) -> list[dict[str, Any]]:
    return list(workload["spec"]["template"]["spec"]["containers"])


@pytest.mark.parametrize("chart", [*SERVICES, "classifeed"])
def test_chart_passes_strict_lint(helm: Path, charts: Path, chart: str) -> None:
    result = subprocess.run(
        [helm, "lint", "--strict", charts / chart], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("settings", _SETS, ids=["defaults", "everything"])
@pytest.mark.parametrize("chart", SERVICES)
def test_manifests_fit_the_schemas_of_kubernetes(render: Render, chart: str, settings: tuple[str, ...]) -> None:
    manifests = render(chart, *settings)
    for manifest in manifests:
        if manifest["kind"] not in _OTHERS:
            kubernetes_validate.validate(manifest, "1.34", strict=True)
    kinds = {manifest["kind"] for manifest in manifests}
    assert {"ServiceAccount", "ConfigMap", "Service", "NetworkPolicy", "PodDisruptionBudget"} <= kinds


@pytest.mark.parametrize("chart", SERVICES)
def test_pods_are_probed_bounded_and_unprivileged(render: Render, chart: str) -> None:
    for workload in workloads(render(chart)):
        pod = workload["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in containers(workload):
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
            assert set(container["resources"]["requests"]) >= {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]
            if workload["kind"] != "Job":
                assert container["readinessProbe"]["grpc"]["port"] == 9090
                # A readiness check here would restart pods that are slow to be ready, such as during an index rebuild.
                assert container["startupProbe"]["httpGet"]["path"] == "/health/live"
                assert container["livenessProbe"]["httpGet"]["path"] == "/health/live"


@pytest.mark.parametrize("chart", [name for name in SERVICES if has_migrations(name)])
def test_migrations_run_before_the_pods_and_after(render: Render, chart: str) -> None:
    jobs = {each["metadata"]["name"]: each for each in render(chart) if each["kind"] == "Job"}
    assert set(jobs) == {f"shop-{chart}-migrate-pre", f"shop-{chart}-migrate-post"}
    pre = jobs[f"shop-{chart}-migrate-pre"]
    assert pre["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert containers(pre)[0]["args"] == ["migrate", "--phase", "pre"]
    plain = [each for each in render(chart, "migrations.hooks=false") if each["kind"] == "Job"]
    assert {each["metadata"]["name"] for each in plain} == {f"shop-{chart}-migrate-{p}-1" for p in ("pre", "post")}
    assert all("annotations" not in each["metadata"] for each in plain)


def test_migrations_know_the_settings_without_a_prefix_too(render: Render) -> None:
    manifests = render("loader", "environment.PG_SCHEMA_QUEUE=queue_of_jobs")
    for job in (each for each in manifests if each["kind"] == "Job"):
        [container] = containers(job)
        assert {"name": "PG_SCHEMA_QUEUE", "value": "queue_of_jobs"} in container["env"]


def test_variables_of_all_services_reach_each_and_give_way_to_its_own(render: Render) -> None:
    endpoint = "global.environment.OTEL_EXPORTER_OTLP_ENDPOINT=http://otel:4317"
    manifests = render("classifeed", endpoint, "api.environment.OTEL_EXPORTER_OTLP_ENDPOINT=http://own:4317")
    found = {
        each["metadata"]["name"]: each["data"]["OTEL_EXPORTER_OTLP_ENDPOINT"]
        for each in manifests
        if each["kind"] == "ConfigMap"
    }
    assert found == {f"shop-{name}": f"http://{'own' if name == 'api' else 'otel'}:4317" for name in SERVICES}
    for job in (each for each in render("processor", endpoint) if each["kind"] == "Job"):
        [container] = containers(job)
        assert {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://otel:4317"} in container["env"]
    checksums = {
        each["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        for settings in ((), (endpoint,))
        for each in render("processor", *settings)
        if each["kind"] == "Deployment"
    }
    assert len(checksums) == 2, "pods are replaced"


def test_searcher_keeps_its_index(render: Render) -> None:
    [searcher] = workloads(render("searcher"))
    assert searcher["kind"] == "StatefulSet"
    [claim] = searcher["spec"]["volumeClaimTemplates"]
    mounts = {mount["name"]: mount["mountPath"] for mount in containers(searcher)[0]["volumeMounts"]}
    config = next(each for each in render("searcher") if each["kind"] == "ConfigMap")
    assert mounts[claim["metadata"]["name"]] == config["data"]["CLASSIFEED_SEARCHER_DATA_DIR"]


def test_http_requests_may_come_by_the_names_of_the_service(render: Render) -> None:
    def hosts(*settings: str) -> list[str]:
        config = next(each for each in render("loader", *settings) if each["kind"] == "ConfigMap")
        return str(config["data"]["CLASSIFEED_LOADER_HTTP_HOSTS"]).split(",")

    names = [f"classifeed-loader{rest}" for rest in ("", ".default", ".default.svc", ".default.svc.cluster.local")]
    assert hosts() == names
    assert hosts("config.HTTP_HOSTS=jobs.example") == [*names, "jobs.example"]


@pytest.mark.parametrize("chart", SERVICES)
def test_settings_that_a_chart_names_exist_in_the_code(render: Render, chart: str) -> None:
    module = __import__(f"classifeed_{chart}.settings", fromlist=["settings"])
    [settings] = [
        kind for name, kind in vars(module).items() if name.endswith("Settings") and kind.__module__ == module.__name__
    ]
    known = {f"CLASSIFEED_{chart.upper()}_{field.upper()}" for field in settings.model_fields}
    for field in settings.model_fields.values():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings):
            known |= {name.upper() for name in field.annotation.model_fields}  # these have no prefix
    manifests = render(chart)
    named = {name for each in manifests if each["kind"] == "ConfigMap" for name in each["data"]}
    for workload in workloads(manifests):
        named |= {variable["name"] for container in containers(workload) for variable in container.get("env", [])}
    assert named <= known


@pytest.mark.parametrize("chart", ["api", "loader", "offers", "processor", "moderation", "cleanweb", "pictures"])
def test_alerts_watch_the_clean_up_of_the_service_and_name_their_runbook(render: Render, chart: str) -> None:
    modules = (f"classifeed_{chart}.app.clean_up", f"classifeed_{chart}.store.cleaning")
    clean_up = import_module(next(filter(find_spec, modules))).CLEAN_UP
    manifests = render(chart, "alerts.enabled=true", "alerts.cleanUpHours=5", "serviceMonitor.enabled=true")
    [rule] = [each for each in manifests if each["kind"] == "PrometheusRule"]
    alerts = {alert["alert"]: alert for group in rule["spec"]["groups"] for alert in group["rules"]}
    assert ("ClassifeedLoadsHeld" in alerts) == (chart == "processor")
    assert alerts["ClassifeedTablesPastTheirBound"]["expr"].endswith("> 18000")
    for name in ("ClassifeedTablesPastTheirBound", "ClassifeedTablesUnobserved"):
        alert = alerts[name]
        [(metric, labels)] = re.findall(r"(\w+)\{(.*?)\}", alert["expr"])
        assert metric == name_of(SCHEDULE_AGE)
        assert labels == f'schedule="{clean_up}"'
        assert name in (ROOT / alert["annotations"]["runbook"]).read_text("utf-8")
    # The processes with a reaper, which export the metric, are scraped.
    [monitor] = [each for each in manifests if each["kind"] == "PodMonitor"]
    [unlike] = monitor["spec"]["selector"]["matchExpressions"]
    assert (unlike["operator"], unlike["values"]) == ("NotIn", ["serve"])
    assert not [each for each in render(chart) if each["kind"] in _OTHERS]


def test_alert_watches_loads_that_wait_for_a_decision(render: Render) -> None:
    [rule] = [
        each
        for each in render("processor", "alerts.enabled=true", "alerts.heldHours=2")
        if each["kind"] == "PrometheusRule"
    ]
    [alert] = [
        alert for group in rule["spec"]["groups"] for alert in group["rules"] if alert["alert"] == "ClassifeedLoadsHeld"
    ]
    assert alert["expr"] == f"max({name_of(OLDEST_HELD)}) > 7200"
    assert alert["alert"] in (ROOT / alert["annotations"]["runbook"]).read_text("utf-8")


@pytest.mark.parametrize(
    ("chart", "names"),
    [
        (
            "moderation",
            {
                "ClassifeedTextsWaitLong", "ClassifeedTextsPileUp", "ClassifeedTextsDropped", "ClassifeedRulesRefused",
                "ClassifeedVerdictServiceFails", "ClassifeedVerdictCallbacksRefused", "ClassifeedVerdictsUnknown",
            },
        ),
        (
            "cleanweb",
            {
                "ClassifeedReviewsWaitLong", "ClassifeedVerdictCallbacksWait", "ClassifeedVerdictCallbacksGivenUp",
                "ClassifeedRulesRefused",
            },
        ),
        (
            "pictures",
            {
                "ClassifeedPicturesWaitLong",
                "ClassifeedPictureHostsRefuse",
                "ClassifeedPictureQuotaUsed",
                "ClassifeedPicturesBackupOld",
            },
        ),
        ("offers", set()),
        ("receiver", {"ClassifeedDamagedDocuments"}),
        ("searcher", set()),
    ],
)  # fmt: skip
def test_alerts_watch_what_waits_by_metrics_that_exist_and_name_their_runbook(
    render: Render, chart: str, names: set[str]
) -> None:
    [rule] = [each for each in render(chart, "alerts.enabled=true") if each["kind"] == "PrometheusRule"]
    alerts = {alert["alert"]: alert for group in rule["spec"]["groups"] for alert in group["rules"]}
    others = {"ClassifeedTablesPastTheirBound", "ClassifeedTablesUnobserved", "ClassifeedProcessRestarts"}
    assert alerts.keys() - others == names
    metrics = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/reference/metrics.md").read_text("utf-8"), re.MULTILINE))
    for name in names:
        assert set(re.findall(r"classifeed_\w+", alerts[name]["expr"])) <= metrics, name
        assert name in (ROOT / alerts[name]["annotations"]["runbook"]).read_text("utf-8")


@pytest.mark.parametrize("chart", ["receiver", "searcher", "indexer", "offers"])
def test_alert_watches_processes_that_exit_again_and_again(render: Render, chart: str) -> None:
    [rule] = [each for each in render(chart, "alerts.enabled=true") if each["kind"] == "PrometheusRule"]
    alerts = {alert["alert"]: alert for group in rule["spec"]["groups"] for alert in group["rules"]}
    alert = alerts["ClassifeedProcessRestarts"]
    assert "changes(process_start_time_seconds{" in alert["expr"]
    assert alert["expr"].endswith("[10m])) >= 3")
    assert "ClassifeedProcessRestarts" in (ROOT / alert["annotations"]["runbook"]).read_text("utf-8")
    assert ("ClassifeedTablesUnobserved" in alerts) == (chart == "offers")


def test_texts_count_as_late_only_after_they_were_due_again() -> None:
    alerts = yaml.safe_load((ROOT / "helm/moderation/values.yaml").read_text("utf-8"))["alerts"]
    fields = ModerationSettings.model_fields
    due_s = [fields[name].default for name in ("max_pending_duration_s", "retry_interval_s")]
    assert alerts["waitingMinutes"] * 60 > sum(due_s) + CHECK_INTERVAL_S


def test_alert_on_quotas_has_its_share_and_leaves_out_namespaces_without_one(render: Render) -> None:
    manifests = render("pictures", "alerts.enabled=true", "alerts.quotaPercent=75")
    [rule] = [each for each in manifests if each["kind"] == "PrometheusRule"]
    [expr] = [
        alert["expr"]
        for group in rule["spec"]["groups"]
        for alert in group["rules"]
        if alert["alert"] == "ClassifeedPictureQuotaUsed"
    ]
    assert expr.endswith("> 0.75")
    assert "(classifeed_pictures_quota_bytes) > 0)" in expr


def test_dashboard_comes_as_it_is_in_a_config_map_that_grafana_finds(render: Render) -> None:
    def dashboards(*settings: str) -> Manifests:
        maps = [each for each in render("pictures", *settings) if each["kind"] == "ConfigMap"]
        return [each for each in maps if "grafana_dashboard" in each["metadata"]["labels"]]

    assert dashboards() == []
    [found] = dashboards("dashboards.enabled=true")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    file = ROOT / "helm/pictures/dashboards/pictures.json"
    assert json.loads(found["data"]["pictures.json"]) == json.loads(file.read_text("utf-8"))


@pytest.mark.parametrize("chart", ["moderation", "cleanweb"])
def test_texts_are_judged_by_two_processes_at_least(render: Render, chart: str) -> None:
    [deployment] = [
        each for each in render(chart, "roles.serve.autoscaling.enabled=false") if each["kind"] == "Deployment"
    ]
    assert deployment["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        ("roles.serve.replicas=lots", "replicas"),
        ("ports.grpc=80", "grpc"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("tmpSizeLimit=big", "tmpSizeLimit"),
        ("colour=red", "colour"),
    ],
)
def test_wrong_value_is_refused_by_its_name(render: Render, setting: str, field: str) -> None:
    with pytest.raises(ValueError, match=field):
        render("receiver", setting)


def test_missing_secret_is_reported(render: Render) -> None:
    with pytest.raises(ValueError, match=r"secrets\.name"):
        render("receiver", "secrets.name=")


def test_umbrella_brings_every_service(render: Render) -> None:
    services = {each["metadata"]["name"] for each in render("classifeed") if each["kind"] == "Service"}
    assert services == {f"classifeed-{name}" for name in SERVICES}
    assert not [each for each in render("classifeed", "searcher.enabled=false") if each["kind"] == "StatefulSet"]
