"""Examination of an installation: stopped, suspended and refusing parts and services, with times."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from classifeed_cli.platform import doctor
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.platform.probing import health_watch, part_probe
from classifeed_cli.platform.probing.examination import Health, Problem, examine
from classifeed_cli.platform.probing.health_watch import HealthWatch
from classifeed_cli.platform.supervision import description
from classifeed_common.auth import bind_team_token, write_keys
from classifeed_common.processes import ProcessIdentity
from classifeed_devkit.testing.recovery import until

LONG_AGO = "2026-11-23T09:00:00+00:00"
PARTS = ("postgres", "kafka", "s3")
REFUSED_BY_POSTGRES = b"E\0\0\0\x26SFATAL\0C57P03\0Mstarting up, wait\0\0"
REFUSALS = {
    "postgres": (REFUSED_BY_POSTGRES, "refuses work: starting up, wait"),
    "kafka": (b"\0\0\0\x08\0\0\0\x63\0\0\0\0", "refuses work: what listens there is not Kafka"),
    "s3": (b"HTTP/1.0 503 Slow Down\r\n\r\n", "refuses work: HTTP 503"),
}
GREETINGS = {
    "postgres": b"R\0\0\0\x08\0\0\0\x0a",
    "kafka": b"\0\0\0\x08\0\0\0\x01\0\0\0\0",
    "s3": b"HTTP/1.0 403 Forbidden\r\n\r\n",
}


@asynccontextmanager
async def server(response: bytes | Callable[[], bytes] | None) -> AsyncIterator[str]:
    """Provide a server that sends a response and closes the connection; with None, it sends nothing."""
    is_over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if response is None:
            await is_over.wait()
        else:
            writer.write(response() if callable(response) else response)
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        is_over.set()


@pytest.mark.parametrize("part", PARTS)
async def test_each_part_is_probed_in_its_own_protocol(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with server(GREETINGS[part]) as address:
        assert await part_probe.find_fault(part, address) is None
    async with server(REFUSALS[part][0]) as address:
        assert await part_probe.find_fault(part, address) == REFUSALS[part][1]
    async with server(b"") as address:
        assert await part_probe.find_fault(part, address) in {
            "closes connections without a response",
            "refuses work: what listens there does not speak HTTP",
        }
    assert await part_probe.find_fault(part, address) == f"nothing listens on {address}"
    monkeypatch.setattr(part_probe, "LIMIT_S", 0.05)
    async with server(None) as address:
        assert await part_probe.find_fault(part, address) == "does not respond within 0.05 s"


@pytest.fixture
def process() -> Iterator[dict[str, Any]]:
    """Yield a running process, as in a run document."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        identity = ProcessIdentity.of(child.pid)
        assert identity is not None
        yield {"pid": child.pid, "started": identity.started, "log": "/data/logs/x.log", "restarts": 0}
        os.kill(child.pid, signal.SIGCONT)
        child.kill()


def document_of(process: dict[str, Any], *, kafka: str, service: str, **changes: Any) -> dict[str, Any]:
    me = ProcessIdentity.of(os.getpid())
    assert me is not None
    own = {"grpc": "127.0.0.1:1", "http": service, "version": "0.1.0"}
    return {
        "pid": me.pid, "started": me.started, "phase": "ready", "version": "0.1.0", "log": "/data/logs/supervisor.log",
        "parts": {"kafka": {**process, "ready": True, "address": kafka}}, "services": {"processor": {**process, **own}},
        "postgres": {}, "kafka": kafka, "s3": None, "tokens": {}, "keys_dir": "", **changes,
    }  # fmt: skip


def ready(status: int, reported: dict[str, Any]) -> bytes:
    return f"HTTP/1.1 {status} X\r\n\r\n{json.dumps(reported)}".encode()


async def test_what_is_missing_names_its_cause_its_time_and_what_to_do(process: dict[str, Any]) -> None:
    reported = {"missing": {"kafka": "no response within 3 s"}, "blocked": {}, "since": {"kafka": LONG_AGO}}
    async with server(GREETINGS["kafka"]) as kafka, server(ready(503, reported)) as service:
        healths = await examine(document_of(process, kafka=kafka, service=service))
        assert healths["kafka"] == Health("RUNNING")
        assert healths["processor"] == Health("NOT_SERVING", (Problem("kafka: no response within 3 s", LONG_AGO, ""),))
        away = document_of(process, kafka=kafka[:-1] + "0", service=service, unwell_since={"kafka": LONG_AGO})
        away["parts"]["kafka"]["address"] = f"127.0.0.1:{free_port()}"
        healths = await examine(away)
        [problem] = healths["kafka"].problems
        assert (healths["kafka"].state, problem.since) == ("NOT_SERVING", LONG_AGO)
        assert problem.text == f"nothing listens on {away['parts']['kafka']['address']}"
        assert f"kill -9 {process['pid']}" in problem.fix
        assert healths["processor"].problems[0].fix == "It continues automatically once kafka works again."
        status = await description.describe_status(away)
    assert (status["ready"], status["healthy"]) == (False, False)
    assert status["parts"]["kafka"]["since"] == LONG_AGO
    assert status["services"]["processor"]["problems"] == ["kafka: no response within 3 s"]


@pytest.mark.parametrize("content", [None, "{"])
async def test_a_lost_list_of_tokens_is_named_with_what_to_do(
    process: dict[str, Any], tmp_path: Path, content: str | None
) -> None:
    write_keys(tmp_path, ["operator"])
    async with server(GREETINGS["kafka"]) as kafka, server(ready(200, {"missing": {}, "blocked": {}})) as service:
        document = document_of(process, kafka=kafka, service=service, keys_dir=str(tmp_path))
        assert (await examine(document))["supervisor"].is_well
        if content is None:
            (tmp_path / "tokens.json").unlink()
        else:
            (tmp_path / "tokens.json").write_text(content)
        write_keys(tmp_path, ["operator"])  # as the next start does
        [problem] = (await examine(document))["supervisor"].problems
        status = await description.describe_status(document)
    assert str(tmp_path / "tokens.json") in problem.text
    assert "classifeed token reset" in problem.fix
    assert (status["ready"], status["healthy"]) == (True, False)


async def test_tokens_without_sellers_are_named_with_what_to_do(process: dict[str, Any], tmp_path: Path) -> None:
    write_keys(tmp_path, ["operator"])
    entry = {"token_id": "1", "team": "shop", "may": [], "created_at": 1, "expires_at": 2**40, "revoked_at": None}
    past = [{**entry, "token_id": "2", "expires_at": 2}, {**entry, "token_id": "3", "revoked_at": 1}]
    (tmp_path / "tokens.json").write_text(json.dumps({"tokens": [entry, *past]}))
    async with server(GREETINGS["kafka"]) as kafka, server(ready(200, {"missing": {}, "blocked": {}})) as service:
        document = document_of(process, kafka=kafka, service=service, keys_dir=str(tmp_path))
        [problem] = (await examine(document))["supervisor"].problems
        assert problem.text == "team tokens: 1 name no seller, so they are refused: those of shop"
        assert "classifeed token bind 1 --seller" in problem.fix
        bind_team_token(tmp_path, "1", ["shop"])
        assert (await examine(document))["supervisor"].is_well


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


async def test_what_was_just_started_is_waited_for(process: dict[str, Any]) -> None:
    port = free_port()
    document = document_of(process, kafka=f"127.0.0.1:{port}", service=f"127.0.0.1:{port}")
    for kind, name in (("parts", "kafka"), ("services", "processor")):
        document[kind][name]["ready"] = False
        health = (await examine(document))[name]
        assert (health.state, health.problems[0].fix) == ("STARTING", "Wait; its log shows its progress.")
    async with server(GREETINGS["kafka"]) as kafka:
        document["parts"]["kafka"]["address"] = kafka
        assert (await examine(document))["kafka"].state == "STARTING", "it answers, and does not serve yet"


async def test_a_process_that_exits_again_and_again_is_a_problem_and_never_just_starting(
    process: dict[str, Any],
) -> None:
    port = free_port()
    now_s = time.time()
    loop = {
        "ready": False, "last_exit": 1, "last_words": "first\n\nDecodeError: " + "x" * 1000,
        "restart_times": [now_s - 700, now_s - 599, now_s - 30, now_s - 1],
    }  # fmt: skip
    document = document_of({**process, **loop}, kafka=f"127.0.0.1:{port}", service=f"127.0.0.1:{port}")
    document["parts"]["kafka"]["ready"] = False
    status = await description.describe_status(document)
    for row in (status["parts"]["kafka"], status["services"]["processor"]):
        assert row["state"] == "NOT_SERVING"
        assert row["problems"] == ["its process exited 3 times within 10 minutes, the last time with code 1"]
        assert row["fixes"][0].splitlines()[1:] == ["first", "DecodeError: " + "x" * 287]
        assert abs(datetime.fromisoformat(row["since"]).timestamp() - (now_s - 599)) < 1.1
    assert (status["ready"], status["healthy"]) == (False, False)
    async with server(GREETINGS["kafka"]) as kafka, server(ready(200, {})) as service:
        document = document_of({**process, **loop, "ready": True}, kafka=kafka, service=service)
        status = await description.describe_status(document)
        assert (status["ready"], status["healthy"]) == (True, False), "it serves, until it exits the next time"
        document["services"]["processor"]["restart_times"] = document["parts"]["kafka"]["restart_times"] = [
            now_s - 5
        ] * 2
        assert (await description.describe_status(document))["healthy"]


async def test_a_role_that_is_blocked_is_a_problem_of_a_service_that_serves(process: dict[str, Any]) -> None:
    reported = {
        "missing": {},
        "blocked": {"consume": {"p[3]": "the record fails"}},
        "since": {"consume: p[3]": LONG_AGO},
    }
    async with server(GREETINGS["kafka"]) as kafka, server(ready(200, reported)) as service:
        status = await description.describe_status(document_of(process, kafka=kafka, service=service))
    assert (status["ready"], status["healthy"]) == (True, False)
    assert status["services"]["processor"]["state"] == "SERVING"
    assert status["services"]["processor"]["since"] == LONG_AGO


async def test_what_waits_for_something_missing_is_one_problem(process: dict[str, Any]) -> None:
    """A missing database blocks nearly everything; a list of all effects would hide the cause."""
    reported = {
        "missing": {"postgres": "no response within 3 s"},
        "blocked": {"work": {"claims": "claiming fails", "leases": "renewing fails"}, "reap": {"lost jobs": "fails"}},
        "since": {"postgres": LONG_AGO, "work: claims": LONG_AGO},
    }
    async with server(GREETINGS["kafka"]) as kafka, server(ready(503, reported)) as service:
        status = await description.describe_status(document_of(process, kafka=kafka, service=service))
    assert status["services"]["processor"]["problems"] == [
        "postgres: no response within 3 s",
        "blocked meanwhile: work (claims, leases), reap (lost jobs)",
    ]


async def test_what_ends_soon_after_the_start_is_waited_for(process: dict[str, Any]) -> None:
    blocked = {"missing": {}, "blocked": {"consume": {"p[3]": "rebuilding"}}, "since": {"consume: p[3]": LONG_AGO}}
    probes = 0

    def respond() -> bytes:
        nonlocal probes
        probes += 1
        return ready(200, blocked if probes < 4 else {})

    async with server(GREETINGS["kafka"]) as kafka, server(respond) as service:
        status = await description.describe_started(document_of(process, kafka=kafka, service=service))
    assert (status["healthy"], probes >= 4) == (True, True)


async def test_processes_that_stand_still_or_have_ended_are_distinguished(process: dict[str, Any]) -> None:
    async with server(GREETINGS["kafka"]) as kafka, server(ready(200, {})) as service:
        document = document_of(process, kafka=kafka, service=service)
        assert all(health.is_well for health in (await examine(document)).values())
        os.kill(process["pid"], signal.SIGSTOP)
        os.waitid(os.P_PID, process["pid"], os.WSTOPPED | os.WNOWAIT)
        for health in list((await examine(document)).values())[1:]:
            assert health.state == "NOT_SERVING"
            assert f"process {process['pid']} was stopped by a signal" in health.problems[0].text
            assert health.problems[0].fix == f"`kill -CONT {process['pid']}` resumes it."
        document["services"]["processor"]["started"] = "1"
        assert (await examine(document))["processor"].state == "DOWN"


async def test_a_service_that_is_silent_is_not_waited_for(
    process: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silence(*_: Any, **__: Any) -> None:
        return None

    monkeypatch.setattr("classifeed_cli.platform.probing.probe.http_get", silence)
    async with server(GREETINGS["kafka"]) as kafka:
        health = (await examine(document_of(process, kafka=kafka, service="127.0.0.1:7")))["processor"]
    assert (health.state, health.problems[0].text) == (
        "NOT_SERVING", "does not respond at http://127.0.0.1:7/health/ready",
    )  # fmt: skip


def test_the_supervisor_remembers_since_when() -> None:
    changes: list[dict[str, str]] = []
    reported: list[str] = []
    watch = HealthWatch(dict, lambda: changes.append(watch.unwell_since), reported.append)
    ill = Health("NOT_SERVING", (Problem("does not respond within 2 s"),))
    watch.note({"kafka": Health("RUNNING"), "s3": Health("RUNNING")})
    assert changes == []
    watch.note({"kafka": ill, "s3": Health("RUNNING")})
    watch.unwell_since["kafka"] = LONG_AGO
    watch.note({"kafka": Health("STARTING", ill.problems), "s3": ill})
    assert watch.unwell_since["kafka"] == LONG_AGO, "however its state changes, it was not well between"
    assert set(watch.unwell_since) == {"kafka", "s3"}
    watch.note({"kafka": Health("RUNNING"), "s3": ill})
    assert set(watch.unwell_since) == {"s3"}
    assert [sorted(each) for each in changes] == [["kafka"], ["kafka", "s3"], ["s3"]]
    assert reported[0] == "kafka: does not respond within 2 s"
    assert reported[-1].startswith("kafka is healthy again after ")


async def test_the_supervisor_examines_again_after_a_fault(
    process: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_watch, "PERIOD_S", 0.01)
    to_raise = iter([OSError(errno.EMFILE, "Too many open files")])
    reported: list[str] = []

    def describe() -> dict[str, Any]:
        for fault in to_raise:
            raise fault
        return document_of({**process, "pid": None}, kafka="127.0.0.1:7", service="127.0.0.1:7")

    watch = HealthWatch(describe, lambda: None, reported.append)
    watching = asyncio.create_task(watch.run())
    await until(lambda: bool(watch.unwell_since))
    watching.cancel()
    assert set(watch.unwell_since) == {"kafka", "processor"}
    assert reported[0].startswith("health was not examined: ")


def test_status_and_doctor_end_with_1_and_say_which(
    terminal: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, process: dict[str, Any]
) -> None:
    port = free_port()
    document = document_of(process, kafka=f"127.0.0.1:{port}", service=f"127.0.0.1:{port}")
    document["unwell_since"] = {"kafka": LONG_AGO, "processor": LONG_AGO}
    layout = Layout(tmp_path / "data")
    layout.prepare()
    layout.supervisor.write_text(json.dumps(document))
    monkeypatch.setenv("CLASSIFEED_DATA", str(layout.root))
    status = terminal("status")
    assert status.exit_code == 1
    for shown in (status.out, terminal("doctor").out):
        words = " ".join(shown.split())
        assert f"nothing listens on 127.0.0.1:{port}" in words
        assert "since 2026-11-23 12:00:00" in words
        assert "/data/logs/x.log" in words
        assert f"kill -9 {process['pid']}" in words
    assert terminal("status", "--json").document["parts"]["kafka"]["state"] == "NOT_SERVING"
    checks = {each["check"]: each["outcome"] for each in terminal("doctor", "--json").document["checks"]}
    assert checks["installation"] == checks["running kafka"] == checks["running processor"] == "failed"
    assert "running supervisor" not in checks
    assert doctor.examine(Layout(tmp_path / "none"))
