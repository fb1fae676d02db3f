"""Every service accepts the default values of its chart; comments in the values state the defaults of the settings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, cast

import pytest

from classifeed_common.settings import ServiceSettings
from classifeed_offers.settings import OffersSettings
from tests.charts.conftest import ROOT, SERVICES, Manifests

# The first build of helm on a machine takes minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

_SECRETS = {"dsn": "postgresql://classifeed:secret@postgres:5432/classifeed"}
_STATED = re.compile(r"\b([A-Z][A-Z0-9_]{2,})\s(?:# )?\((true|false|[0-9.]+)[),]")


def settings_of(service: str) -> type[ServiceSettings]:
    module = import_module(f"classifeed_{service}.settings")
    [settings] = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ServiceSettings) and kind.__module__ == module.__name__
    ]
    return settings


def environments(manifests: Manifests, service: str) -> Iterator[dict[str, str]]:
    """Yield the environment of each container of a service, joined as Kubernetes does."""
    maps = {each["metadata"]["name"]: each["data"] for each in manifests if each["kind"] == "ConfigMap"}
    for each in manifests:
        if each["kind"] in {"Deployment", "StatefulSet", "Job"} and (
            each["metadata"]["labels"]["app.kubernetes.io/name"] == service
        ):
            for container in each["spec"]["template"]["spec"]["containers"]:
                joined: dict[str, str] = {}
                for source in container.get("envFrom", []):
                    joined |= maps[source["configMapRef"]["name"]]
                yield joined | {variable["name"]: value_of(variable) for variable in container.get("env", [])}


def value_of(variable: dict[str, Any]) -> str:
    if "value" in variable:
        return str(variable["value"])
    key: str = variable["valueFrom"]["secretKeyRef"]["key"]
    return _SECRETS.get(key, key)


def build(service: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> ServiceSettings:
    """Return the settings as `python -m classifeed_<service> check` reads them."""
    for name in [*os.environ]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    try:
        return settings_of(service)()
    finally:
        monkeypatch.undo()


@pytest.mark.parametrize("chart", ["of its own", "classifeed"])
@pytest.mark.parametrize("service", SERVICES)
def test_settings_take_every_default(
    render: Callable[..., Manifests], monkeypatch: pytest.MonkeyPatch, service: str, chart: str
) -> None:
    found = list(environments(render(chart if chart == "classifeed" else service), service))
    assert found
    for environment in found:
        settings = build(service, environment, monkeypatch)
        assert str(settings.keys_dir) == "/var/run/classifeed/keys"


@pytest.mark.parametrize("is_approved", [False, True])
def test_offers_start_with_moderation_by_default_and_without_it(
    render: Callable[..., Manifests], monkeypatch: pytest.MonkeyPatch, *, is_approved: bool
) -> None:
    rendered = render("offers", *(["config.TEXTS_APPROVED_BY_SETTING=true"] if is_approved else []))
    found = [cast("OffersSettings", build("offers", each, monkeypatch)) for each in environments(rendered, "offers")]
    assert {settings.texts_approved_by_setting for settings in found} == {is_approved}


@pytest.mark.parametrize("service", SERVICES)
def test_defaults_that_the_comments_state_are_those_of_the_code(service: str) -> None:
    values = (ROOT / f"helm/{service}/values.yaml").read_text("utf-8")
    fields = settings_of(service).model_fields
    for name, stated in _STATED.findall(values):
        default = fields[name.lower()].default
        assert stated == str(default).lower(), name
