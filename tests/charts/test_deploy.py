"""docs/how-to/deploy.md leads from images to an installation: the test runs its commands and renders its values.

helm and the commands that need no cluster are real. The others record their arguments, which must fit the charts.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.charts.conftest import ROOT, SERVICES, Manifests
from tests.charts.test_defaults import build, environments

# The first build of helm on a machine takes minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PAGE = ROOT / "docs/how-to/deploy.md"
_SAMPLES = "cli/src/classifeed_cli/samples"
_BLOCK = re.compile(r"^```(sh|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTING = """#!{python}
import json, os, sys
name = os.path.basename(sys.argv[0])
files = {{a: open(a).read() for a in sys.argv if a.endswith(".yaml") and os.path.exists(a)}}
said = sys.stdin.read() if name == "psql" else ""
with open({calls!r}, "a") as calls:
    calls.write(json.dumps({{"words": [name, *sys.argv[1:]], "files": files, "stdin": said}}) + "\\n")
"""
# `upgrade` needs a cluster; `template` accepts the same options and renders the same manifests.
_HELM = """#!/bin/sh
if [ "$1" = upgrade ]; then shift 2; exec {helm} template "$@" > installed.yaml; fi
exec {helm} "$@"
"""
_CLASSIFEED = """#!/bin/sh
case "$1" in keys|token) exec {python} -m classifeed_cli.main "$@";; *) exec {noting} "$@";; esac
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a command: its words, the manifests that it names, and its standard input."""

    words: list[str]
    files: dict[str, str]
    stdin: str

    def option(self, name: str) -> str:
        return self.words[self.words.index(name) + 1]


@dataclass(frozen=True, slots=True)
class Deployment:
    """The outcome of the page: the calls, and the manifests that helm would install."""

    calls: list[Call]
    manifests: Manifests

    def of(self, *words: str) -> list[Call]:
        return [call for call in self.calls if call.words[: len(words)] == [*words]]


@pytest.fixture(scope="module")
def deployment(helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """Run the whole page in its order, in a copy of the files that it uses."""
    top, programs = tmp_path_factory.mktemp("top"), tmp_path_factory.mktemp("programs")
    shutil.copytree(ROOT / "helm", top / "helm", ignore=shutil.ignore_patterns("charts", "Chart.lock"))
    shutil.copytree(ROOT / _SAMPLES, top / _SAMPLES)
    blocks = _BLOCK.findall(PAGE.read_text("utf-8"))
    [values] = [text for kind, text in blocks if kind == "yaml"]
    (top / "values.yaml").write_text(values)
    calls = top / "calls.jsonl"
    noting = _NOTING.format(python=sys.executable, calls=str(calls))
    texts = dict.fromkeys(("docker", "kubectl", "psql", "curl", "noted"), noting)
    texts["helm"] = _HELM.format(helm=helm)
    texts["classifeed"] = _CLASSIFEED.format(python=sys.executable, noting=programs / "noted")
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o700)
    script = "set -euo pipefail\n" + "".join(text for kind, text in blocks if kind == "sh") + "wait\n"
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(top), "S3_ACCESS_KEY": "access", "S3_SECRET_KEY": "secret"}
    ended = subprocess.run(
        ["bash", "-c", script], cwd=top, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    manifests = yaml.safe_load_all((top / "installed.yaml").read_text())
    return Deployment(
        [Call(**json.loads(line)) for line in calls.read_text().splitlines()], [each for each in manifests if each]
    )


def secrets_of(deployment: Deployment) -> dict[str, dict[str, str]]:
    """Return the contents of the Secrets that the page creates, by name."""
    found: dict[str, dict[str, str]] = {}
    for call in deployment.of("kubectl", "create"):
        for text in call.files.values():
            for secret in yaml.safe_load_all(text):
                kubernetes_validate.validate(secret, "1.34", strict=True)
                data = {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
                assert found.setdefault(secret["metadata"]["name"], data) is data
        if call.words[2:4] == ["secret", "generic"]:
            literals = [word.removeprefix("--from-literal=") for word in call.words if word.startswith("--from-lit")]
            pairs = (literal.partition("=") for literal in literals)
            data = {name: value for name, _, value in pairs}
            assert found.setdefault(call.words[4], data) is data
    return found


def pods_of(manifests: Manifests) -> Iterator[dict[str, Any]]:
    for each in manifests:
        if each["kind"] in {"Deployment", "StatefulSet", "Job"}:
            yield each["spec"]["template"]["spec"]


def test_images_that_are_built_are_those_that_pods_run(deployment: Deployment) -> None:
    builds = deployment.of("docker", "build")
    assert [call.option("--file") for call in builds if not (ROOT / call.option("--file")).is_file()] == []
    built = {call.option("--tag") for call in builds}
    assert len(built) == len(SERVICES)
    assert built == {call.words[2] for call in deployment.of("docker", "push")}
    assert built == {pod["containers"][0]["image"] for pod in pods_of(deployment.manifests)}


def test_pods_find_each_secret_that_they_look_for(deployment: Deployment) -> None:
    secrets = secrets_of(deployment)
    for pod in pods_of(deployment.manifests):
        for volume in pod["volumes"]:
            assert volume.get("secret", {"secretName": "classifeed-api"})["secretName"] in secrets
        for variable in pod["containers"][0]["env"]:
            if "valueFrom" in variable:
                reference = variable["valueFrom"]["secretKeyRef"]
                assert secrets[reference["name"]][reference["key"]]


def test_roles_and_databases_are_those_of_the_secrets(deployment: Deployment) -> None:
    [call] = deployment.of("psql")
    roles = dict(re.findall(r"CREATE ROLE (\w+) LOGIN PASSWORD '(\w+)';", call.stdin))
    assert set(re.findall(r"CREATE DATABASE (\w+) OWNER (\w+);", call.stdin)) == {(name, name) for name in roles}
    secrets = secrets_of(deployment)
    assert {name.removeprefix("classifeed-"): data["dsn"] for name, data in secrets.items() if "dsn" in data} == {
        name: f"postgresql://{name}:{password}@postgres.example:5432/{name}" for name, password in roles.items()
    }


def test_all_goes_to_one_namespace_and_to_things_that_are_installed(deployment: Deployment) -> None:
    names = {f"{each['kind'].lower()}/{each['metadata']['name']}" for each in deployment.manifests}
    for call in deployment.of("kubectl"):
        assert call.words[1:4] == ["create", "namespace", "classifeed"] or call.option("--namespace") == "classifeed"
        for word in call.words:
            if re.match(r"(deployment|statefulset|job|service)/", word):
                assert word in names
    [call] = deployment.of("curl")
    hosts = next(
        each["data"]["CLASSIFEED_API_HTTP_HOSTS"]
        for each in deployment.manifests
        if each["kind"] == "ConfigMap" and each["metadata"]["name"] == "classifeed-api"
    )
    assert call.option("--header").removeprefix("Host: ") in hosts.split(",")


def test_forwarded_ports_are_those_of_the_services_and_of_the_commands(deployment: Deployment) -> None:
    ports = {
        f"service/{each['metadata']['name']}": {port["port"] for port in each["spec"]["ports"]}
        for each in deployment.manifests
        if each["kind"] == "Service"
    }
    local = set()
    for call in deployment.of("kubectl", "port-forward"):
        here, there = call.words[-1].split(":")
        assert int(there) in ports[call.words[-2]]
        local.add(here)
    text = PAGE.read_text("utf-8")
    assert set(re.findall(r"localhost:(\d+)", text)) == local


@pytest.mark.parametrize("service", SERVICES)
def test_services_take_the_values_of_the_page(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    for environment in environments(deployment.manifests, service):
        settings = build(service, environment, monkeypatch)
        assert settings.kafka_bootstrap in {"", "kafka.example:9092"}
        assert settings.s3_endpoint in {"", "http://s3.example:9000"}
    [policy] = [
        each
        for each in deployment.manifests
        if each["kind"] == "NetworkPolicy" and each["metadata"]["name"] == f"classifeed-{service}"
    ]
    assert {"ipBlock": {"cidr": "10.20.0.0/24"}} in [
        peer for rule in policy["spec"]["egress"] for peer in rule["to"] if {"port": 4317} in rule["ports"]
    ]


def test_first_offer_is_uploaded_and_searched(deployment: Deployment) -> None:
    upload, search = deployment.of("noted")
    assert upload.words[1:3] == ["feed", "upload"]
    assert upload.words[3] == "price.yml"
    assert search.words[1] == "search"
