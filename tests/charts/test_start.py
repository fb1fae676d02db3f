"""Services start with the defaults of their charts: the rendered verbs and environment of every container."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from classifeed_common.auth.encryption import new_key_line
from classifeed_common.auth.keys import write_keys
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from classifeed_devkit.testing.recovery import until
from tests.charts.conftest import SERVICES, Manifests
from tests.charts.test_charts import containers, workloads

# The first build of helm on a machine takes minutes.
pytestmark = [pytest.mark.slow, pytest.mark.kafka, pytest.mark.timeout(900)]
_PHASES = ("pre", "post")
_LIMIT_S = 300
_FIRST = ("api", "offers", "searcher")  # with HTTP, with roles and jobs, with child processes
_OWN = {"postgres", "jobs", "kafka", "s3"}


class Pod:
    """The containers of a rendered chart, with addresses of this machine instead of the cluster's.

    Nothing else is changed or added, so that a setting missing in the chart is missing here.
    """

    def __init__(
        self, service: str, manifests: Manifests, *, folder: Path, values: Mapping[str, str], secrets: Mapping[str, str]
    ) -> None:
        self.service = service
        self._prefix = f"CLASSIFEED_{service.upper()}_"
        self._config_maps = {
            each["metadata"]["name"]: each["data"] for each in manifests if each["kind"] == "ConfigMap"
        }
        self._folder = folder
        self._values = values
        self._secrets = secrets
        self.containers = {
            tuple(container.get("args", ())): container
            for each in workloads(manifests)
            for container in containers(each)
        }

    @property
    def roles(self) -> list[tuple[str, ...]]:
        """Arguments of the containers that keep running."""
        return [arguments for arguments in self.containers if arguments[:1] != ("migrate",)]

    def environment(self, arguments: tuple[str, ...]) -> dict[str, str]:
        """Return the environment of a container, joined as Kubernetes does."""
        container = self.containers[arguments]
        joined: dict[str, str] = {}
        for source in container.get("envFrom", []):
            joined |= self._config_maps[source["configMapRef"]["name"]]
        for variable in container.get("env", []):
            joined[variable["name"]] = self._value_of(variable)
        return {name: self._here(name, value) for name, value in joined.items()}

    async def run(self, arguments: tuple[str, ...]) -> str:
        """Run a container to its end; return its output if it failed."""
        process = await self._start(arguments, {}, self.environment(arguments))
        async with asyncio.timeout(_LIMIT_S):
            said, _ = await process.communicate()
        return said.decode() if process.returncode else ""

    async def check(self, arguments: tuple[str, ...]) -> set[str]:
        """Return what the `check` verb reports as missing in the environment of a container."""
        process = await self._start(["check"], {}, self.environment(arguments))
        async with asyncio.timeout(_LIMIT_S):
            said, _ = await process.communicate()
        missing = {line.partition(": ")[0] for line in said.decode().splitlines() if not line.startswith("{")}
        assert process.returncode == bool(missing), said.decode()
        assert "start" not in missing, said.decode()
        return missing

    async def start_and_stop(self, arguments: tuple[str, ...]) -> None:
        """Start a container, wait until it finds its own servers, and stop it."""
        run_file = self._folder / "run.json"
        run = {f"{self._prefix}RUN_FILE": str(run_file)}
        process = await self._start(arguments, run, self.environment(arguments))
        try:
            async with asyncio.timeout(_LIMIT_S):
                while not run_file.exists():
                    assert process.returncode is None, (await process.communicate())[0].decode()
                    await asyncio.sleep(0.05)
                address = json.loads(run_file.read_text())["http"]
                # The container's own servers run; other services do not.
                while _OWN & set(await asyncio.to_thread(_read_missing, address)):
                    assert process.returncode is None, (await process.communicate())[0].decode()
                    await asyncio.sleep(0.05)
            process.terminate()
            async with asyncio.timeout(_LIMIT_S):
                said, _ = await process.communicate()
            assert process.returncode == 0, said.decode()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def _start(
        self, arguments: Sequence[str], further: Mapping[str, str], environment: Mapping[str, str]
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            f"classifeed_{self.service}",
            *arguments,
            env={"PATH": os.environ["PATH"], **environment, **further},
            cwd=self._folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    def _value_of(self, variable: Mapping[str, Any]) -> str:
        if "value" in variable:
            return str(variable["value"])
        return self._secrets[variable["valueFrom"]["secretKeyRef"]["key"]]

    def _here(self, name: str, value: str) -> str:
        if name.endswith("_LISTEN"):
            assert value.startswith("0.0.0.0:")
            return "127.0.0.1:0"
        for beginning in ("/var/run/classifeed/keys", "/var/lib/classifeed"):
            if value.startswith(beginning):
                return str(self._folder / Path(beginning).name) + value.removeprefix(beginning)
        return self._values.get(name.removeprefix(self._prefix), value)


def _read_missing(address: str) -> dict[str, str]:
    with urlopen(f"http://{address}/health/live", timeout=60) as answer:
        assert answer.status == 200
    try:
        with urlopen(f"http://{address}/health/ready", timeout=60) as answer:
            content = answer.read()
    except HTTPError as error:
        with error:
            content = error.read()
    return dict(json.loads(content)["missing"])


@pytest.fixture
def pod(
    render: Callable[..., Manifests], kafka: EmbeddedKafka, s3: EmbeddedS3, database_dsn: str, tmp_path: Path
) -> Callable[[str], Pod]:
    def made(service: str) -> Pod:
        keys = tmp_path / "keys"
        write_keys(keys, [*SERVICES, "operator"])
        (keys / "seal.keys").write_text(new_key_line())
        (tmp_path / "classifeed").mkdir()
        return Pod(
            service,
            render(service),
            folder=tmp_path,
            values={"KAFKA_BOOTSTRAP": kafka.bootstrap, "S3_ENDPOINT": s3.endpoint},
            secrets={"dsn": database_dsn, "s3-access-key": s3.access_key, "s3-secret-key": s3.secret_key},
        )

    return made


@pytest.mark.parametrize(
    "service", [each if each in _FIRST else pytest.param(each, marks=in_campaigns) for each in SERVICES]
)
async def test_service_starts_with_what_its_chart_gives_by_default(pod: Callable[[str], Pod], service: str) -> None:
    it = pod(service)
    for phase in _PHASES:
        migration = ("migrate", "--phase", phase)
        if migration in it.containers:
            assert await it.run(migration) == ""
    assert it.roles
    for arguments in it.roles:

        async def has_found_its_own(arguments: tuple[str, ...] = arguments) -> bool:
            return not _OWN & await it.check(arguments)

        if IS_LONG:  # a role also reports at its start what it lacks
            await until(has_found_its_own)  # a check has three seconds, and a busy server may need longer
        await it.start_and_stop(arguments)
