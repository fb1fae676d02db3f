from __future__ import annotations

import asyncio
import itertools
import json
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.platform import settle as settle_module
from classifeed_cli.platform.planning.credentials import ensure_credentials, write_tokens
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.platform.planning.plan import make_plan
from classifeed_cli.platform.planning.ports import plan_ports
from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_cli.platform.settle import wait_settled
from classifeed_cli.platform.supervision.supervised import Supervised
from classifeed_common.auth import KeyStore
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_devkit.embedded.process import spawn_bound
from classifeed_domain.topics import declared


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "data")
    layout.prepare()
    return layout


def test_the_table_names_the_suite_in_the_order_of_an_offer() -> None:
    table = ServiceTable.load()
    way = ["api", "loader", "processor", "offers", "receiver", "indexer", "searcher"]
    assert [name for name in table.services if name in way] == way
    assert all(declared(topic) for topic in table.topics)


def test_only_brings_the_parts_that_a_service_needs() -> None:
    table = ServiceTable.load()
    everything, parts = table.choose([])
    assert (everything, parts) == (list(table.services.values()), frozenset({"postgres", "kafka", "s3"}))
    services, parts = table.choose(["receiver"])
    assert ([spec.name for spec in services], parts) == (["receiver"], frozenset({"postgres"}))
    services, parts = table.choose(["s3,searcher"])
    assert ([spec.name for spec in services], parts) == (["searcher"], frozenset({"s3", "kafka"}))
    with pytest.raises(CommandError) as error:
        table.choose(["serch"])
    assert error.value.exit_code == ExitCode.USAGE


def test_a_service_finds_postgresql_behind_a_proxy_and_nobody_else_does(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLASSIFEED_OFFERS_POSTGRES_ADDRESS", "127.0.0.1:6432")
    plan = make_plan(layout, [])
    behind = {
        spec.name for spec in plan.services if "@127.0.0.1:6432/" in plan.environment(spec).get(f"{spec.prefix}DSN", "")
    }
    assert behind == {"offers"}
    assert f"@{plan.address('postgres')}/" in plan.dsn("offers")  # used by migrations and `status`


def test_files_of_runs_are_in_the_data_folder_unless_another_is_chosen(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's temporary folder is shared with other users, who could not write to the suite's folder."""
    monkeypatch.setenv("CLASSIFEED_PICTURES_SPOOL_DIR", "/mnt/large")
    plan = make_plan(layout, ["api", "pictures"])
    folders = [plan.environment(spec)[f"{spec.prefix}SPOOL_DIR"] for spec in plan.services]
    assert folders == [str(layout.root / "services" / "api" / "spool"), "/mnt/large"]


def test_ports_are_kept_and_move_only_when_they_must(layout: Layout) -> None:
    first = plan_ports(layout, ["api"])
    assert len(set(first.values())) == len(first) == 6
    assert plan_ports(layout, ["api"]) == first
    with socket.create_server(("127.0.0.1", first["api.grpc"])):
        moved = plan_ports(layout, ["api"])
    assert {name for name in first if first[name] != moved[name]} == {"api.grpc"}
    assert plan_ports(layout, []) != first
    assert plan_ports(layout, ["api"]) == moved  # kept while the service was not started


def test_a_set_port_is_taken(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_API_GRPC_LISTEN", "127.0.0.1:15432")
    assert plan_ports(layout, ["api"])["api.grpc"] == 15432
    monkeypatch.setenv("CLASSIFEED_API_GRPC_LISTEN", "localhost")
    with pytest.raises(CommandError, match="has no port"):
        plan_ports(layout, ["api"])


def test_credentials_are_made_once_and_private(layout: Layout) -> None:
    first = ensure_credentials(layout, ["api"])
    encrypted = CredentialCipher.load(layout.credential_keys).encrypt(b"secret", "shop/default")
    second = ensure_credentials(layout, ["api", "offers"])
    assert CredentialCipher.load(layout.credential_keys).decrypt(encrypted, "shop/default") == b"secret"
    assert second.superuser == first.superuser
    assert second.roles["api"] == first.roles["api"]
    assert second.s3_secret_key == first.s3_secret_key
    write_tokens(layout, ["api", "offers"])
    assert {stat.S_IMODE(path.stat().st_mode) for path in layout.keys.iterdir()} == {0o600}
    token = KeyStore(layout.keys).verify(layout.token("operator").read_text(), "offers")
    assert (token.caller, token.audiences) == ("operator", frozenset({"api", "offers"}))
    assert token.expires_at - time.time() > 1500


async def test_restarts_slow_down_while_a_process_keeps_dying(tmp_path: Path) -> None:
    starts: list[float] = []

    def spawn() -> subprocess.Popen[bytes]:
        starts.append(time.monotonic())
        return spawn_bound([sys.executable, "-S", "-c", ""], log=tmp_path / "log")

    async def never() -> bool:
        return False

    unit = Supervised("dying", spawn=spawn, probe=never, log=tmp_path / "log")
    unit.start()
    async with asyncio.timeout(120):
        while unit.restarts < 3:
            await asyncio.sleep(0.05)
    await unit.stop()
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert gaps[0] >= 0.4
    assert gaps[1] >= 0.8
    assert gaps[2] >= 1.6
    before = len(starts)
    await asyncio.sleep(0)
    assert len(starts) == before


async def test_stop_ends_a_process_that_ignores_it(tmp_path: Path, eventually: Callable[..., None]) -> None:
    log = tmp_path / "log"
    script = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    )

    async def serves() -> bool:
        return "up" in log.read_text()

    unit = Supervised(
        "stubborn",
        spawn=lambda: spawn_bound([sys.executable, "-c", script], log=log),
        probe=serves,
        log=log,
        stop_timeout_s=0.3,
    )
    unit.start()
    async with asyncio.timeout(120):
        await unit.wait_ready()
    await unit.stop()
    assert unit.process is not None
    assert unit.process.returncode == -signal.SIGKILL
    assert unit.restarts == 0


async def test_settle_is_not_fooled_by_one_quiet_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter([{"a": 1}, {}, {"b": 2}, {}, {}])
    requests: list[str] = []
    current: dict[str, int] = {}

    async def get(address: str, path: str, timeout_s: float) -> tuple[int, bytes]:
        nonlocal current
        if address == "first":
            current = next(rounds)
            requests.append(json.dumps(current))
        return 200, json.dumps({"items": current if address == "first" else {}, "total": 0}).encode()

    monkeypatch.setattr(settle_module, "http_get", get)
    settled = await wait_settled({"one": "first", "two": "second"}, 120)
    assert settled["settled"] is True
    assert requests == ['{"a": 1}', "{}", '{"b": 2}', "{}", "{}"]


async def test_settle_ends_in_time_and_names_what_does_not_report(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = b'{"detail": "The backlog cannot be counted (uploads: no answer within 5 s)."}'
    limits: dict[str, list[float]] = {}

    async def get(address: str, path: str, timeout_s: float) -> tuple[int, bytes] | None:
        limits.setdefault(address, []).append(timeout_s)
        if address == "silent":
            await asyncio.sleep(timeout_s)
            return None
        return (503, problem) if address == "ill" else (200, b'{"items": {"lag": 2, "outbox": 0}}')

    monkeypatch.setattr(settle_module, "http_get", get)
    with pytest.raises(CommandError) as error:
        await wait_settled({"loader": "silent", "api": "ill", "offers": "busy"}, 0.2)
    assert limits["silent"][0] <= 0.2, "one that is silent gets no more time than there is"
    assert limits["silent"][1:] == limits["busy"] == limits["ill"] == [1.0], "all are asked at once, in a second"
    assert error.value.exit_code == ExitCode.TIME_OUT
    document = error.value.as_document()
    assert document["left"] == {"loader": {"unreachable": 1}, "api": {"unreachable": 1}, "offers": {"lag": 2}}
    assert document["unreachable"]["api"].startswith("The backlog cannot be counted")
    text = str(error.value)
    assert "offers.lag 2; loader does not report its backlog: http://silent/backlog does not respond" in text
    assert "; api does not report its backlog:" in text
    assert str(error.value).endswith("`classifeed status` says what is wrong.")


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = type("Usage", (), {"free": 5 * 2**20})
    monkeypatch.setattr("classifeed_cli.platform.planning.layout.shutil.disk_usage", lambda path: full)
    with pytest.raises(CommandError, match="is full: 5 MiB are free") as error:
        Layout(tmp_path / "data").prepare()
    assert error.value.exit_code == ExitCode.UNAVAILABLE
    assert "\n" not in error.value.message
