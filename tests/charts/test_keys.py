"""`classifeed keys init` makes the Secrets that the pods of the charts mount, with the files that they read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

import kubernetes_validate
import pytest
import yaml

from classifeed_cli.main import run
from tests.charts.conftest import SERVICES, Manifests

# The first build of helm on a machine takes minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_pods_find_their_keys_in_the_secrets_that_are_made(
    render: Callable[..., Manifests], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["keys", "init", "--format", "k8s-secret"]) == 0
    made = {each["metadata"]["name"]: each for each in yaml.safe_load_all(capsys.readouterr().out)}
    for secret in made.values():
        kubernetes_validate.validate(secret, "1.34", strict=True)
    mounted = set()
    for service in SERVICES:
        manifests = render(service)
        for workload in (each for each in manifests if each["kind"] in {"Deployment", "StatefulSet"}):
            pod = workload["spec"]["template"]["spec"]
            [volume] = [each for each in pod["volumes"] if each["name"] == "keys"]
            name = volume["secret"]["secretName"]
            mounted.add(name)
            assert {f"{service}.pem", "jwks.json"} <= made[name]["data"].keys()
        config = next(each["data"] for each in manifests if each["kind"] == "ConfigMap")
        file = config.get(f"CLASSIFEED_{service.upper()}_SECRETS_FILE")
        assert file is None or PurePosixPath(file).name in made[name]["data"]
    assert mounted == made.keys() - {"classifeed-keys-operator"}
