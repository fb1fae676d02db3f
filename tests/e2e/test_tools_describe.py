"""Texts for operators while a service or a server is stopped."""

from __future__ import annotations

import json
import time
import urllib.error

import pytest

from tests.e2e.signals import stopped
from tests.e2e.suite import Suite

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
_PARTS = ("postgres", "kafka", "s3")


def pids(suite: Suite) -> dict[str, int]:
    status = suite.status()
    parts = {name: int(part["pid"]) for name, part in status["parts"].items()}
    return parts | {name: int(service["pids"]["all"]) for name, service in status["services"].items()}


def is_well(suite: Suite) -> bool:
    return suite.run("status").exit_code == 0


@pytest.fixture
def healthy(suite: Suite) -> Suite:
    suite.wait(lambda: is_well(suite), 300, "all is well")
    return suite


def test_status_and_doctor_name_what_stands_still_and_what_to_do(healthy: Suite) -> None:
    suite = healthy
    for name, pid in pids(suite).items():
        with stopped(pid):
            shown = suite.run("status")
            doctor = suite.run("doctor")
        row = shown.document["parts" if name in _PARTS else "services"][name]
        assert (shown.exit_code, row["state"]) == (1, "NOT_SERVING"), name
        assert row["since"], name
        assert (row["fixes"], row["log"]) == (
            [f"`kill -CONT {pid}` resumes it."],
            str(suite.data / f"logs/{name}.log"),
        )
        checks = {check["check"]: check for check in doctor.document["checks"]}
        assert (doctor.exit_code, checks["installation"]["outcome"]) == (1, "failed"), name
        assert f"kill -CONT {pid}" in checks[f"running {name}"]["text"]
    suite.wait(lambda: is_well(suite), 300, "all is well again")


@pytest.mark.slow
def test_commands_report_what_does_not_respond_and_end_in_time(healthy: Suite, seller: str) -> None:
    suite = healthy
    processor = suite.status()["services"]["processor"]
    with stopped(*processor["pids"].values()):
        began = time.monotonic()
        settled = suite.run("settle", "--timeout", "2")
        assert time.monotonic() - began < 10, "as long as it would wait for one response"
        queues = suite.start_command("jobs", "queues")
        tasks = suite.start_command("task", "list", seller, "default")
        assert settled.exit_code == 4
        assert settled.document["left"]["processor"] == {"unreachable": 1}
        assert processor["http"] in settled.document["unreachable"]["processor"]
        queues_out, queues_err = queues.communicate(timeout=120)
        tasks_out, _ = tasks.communicate(timeout=120)
    listed = json.loads(queues_out)
    assert (queues.returncode, listed["unreachable"]) == (3, ["processor"])
    assert {each["service"] for each in listed["queues"]} >= {"loader", "offers"}
    assert f"processor at {processor['grpc']} " in queues_err
    error = json.loads(tasks_out)["error"]
    assert error["metadata"]["address"] == processor["grpc"], "not the api, which responds"
    assert tasks.returncode in {3, 4}, "unavailable or silent, depending on an open connection"
    assert f"processor at {processor['grpc']} " in error["message"]
    assert error["message"].endswith("`classifeed status` says what is wrong.")


@pytest.mark.slow
def test_what_a_service_misses_has_its_cause_and_its_time(healthy: Suite) -> None:
    suite = healthy
    began = pids(suite)
    with stopped(began["kafka"]):
        suite.wait(lambda: not processor_serves(suite), 60, "the processor misses Kafka")
        first, again = suite.status(), suite.status()
        row = first["services"]["processor"]
        assert row["problems"][0].startswith("kafka: "), row
        assert row["fixes"][0] == "It continues automatically once kafka works again."
        for kind, name in (("parts", "kafka"), ("services", "processor")):
            assert first[kind][name]["since"] == again[kind][name]["since"], "the same in every response"
    api_log = suite.data / "logs" / "api.log"
    with stopped(began["postgres"]):
        written_before = api_log.stat().st_size
        with pytest.raises(urllib.error.HTTPError) as caught:
            suite.http("api", "/backlog")
        calls = [line for line in api_log.read_bytes()[written_before:].splitlines() if b"/backlog" in line]
    with caught.value:
        problem = json.loads(caught.value.read())
    assert (caught.value.code, problem["reason"]) == (503, "BACKLOG_UNKNOWN")
    assert "publish-uploads" in problem["metadata"]
    suite.wait(lambda: is_well(suite), 300, "all is well again")
    assert len(calls) == 1
    assert b"Traceback" not in calls[0]
    shown = (suite.data / "logs" / "supervisor.log").read_text()
    assert "kafka: its process" in shown
    assert "kafka is healthy again" in shown


def processor_serves(suite: Suite) -> bool:
    return bool(suite.status()["services"]["processor"]["state"] == "SERVING")
