"""Interfaces for engineers and other teams: reflection, health, drain, service tokens, errors, exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
from bench.kit.generated_feed import write_feed
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tools.gotools import go_environment

from classifeed_client.jobs import JOB_SERVICES
from classifeed_devkit.testing.campaigns import IS_LONG
from tests.e2e.suite import Suite
from tests.requirements import go_tool

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
_OPEN = ("grpc.health.", "grpc.reflection.")


def call(tool: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tool, "-plaintext", *arguments], capture_output=True, text=True, timeout=150, check=False)


def ask(address: str, method: str, *, token: str, **request: object) -> subprocess.CompletedProcess[str]:
    header = f"authorization: Bearer {token}"
    return call(go_tool("grpcurl"), "-H", header, "-d", json.dumps(request), address, method)


def operator_token(status: dict[str, Any]) -> str:
    return Path(status["tokens"]["operator"]).read_text().strip()


def test_grpcurl_lists_and_calls_every_service(suite: Suite) -> None:
    grpcurl = go_tool("grpcurl")
    status = suite.status()
    token = operator_token(status)
    for name, service in status["services"].items():
        listed = call(grpcurl, service["grpc"], "list").stdout.split()
        own = [each for each in listed if not each.startswith(_OPEN)]
        assert own, f"{name} shows no service by reflection"
        health = call(grpcurl, service["grpc"], "grpc.health.v1.Health/Check")
        assert json.loads(health.stdout) == {"status": "SERVING"}
        for each in own:
            methods = call(grpcurl, service["grpc"], "list", each).stdout.split()
            assert methods
            for method in methods if IS_LONG else methods[:1]:
                full = method[: method.rindex(".")] + "/" + method[method.rindex(".") + 1 :]
                bare = call(grpcurl, "-d", "{}", service["grpc"], full)
                assert "Code: Unauthenticated" in bare.stderr, (full, bare.stderr)
                with_token = ask(service["grpc"], full, token=token)
                assert "Unauthenticated" not in with_token.stderr, (full, with_token.stderr)


ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/call-it-from-another-program.md"


def test_another_team_calls_as_its_page_says(suite: Suite, tmp_path: Path) -> None:
    """Run every example of the page with a token of the team."""
    grpcurl, bin_ = go_tool("grpcurl"), tmp_path / "bin"
    feed = write_feed(tmp_path / "feed.yml", 3, prefix="team")
    status = suite.status()["services"]
    environment = {
        **go_environment(),
        # Before the project's tools, so that the examples use the tools that the page installs.
        "PATH": os.pathsep.join((str(bin_), str(grpcurl.parent), str(Path(sys.executable).parent), os.environ["PATH"])),
        "CLASSIFEED_DATA": str(suite.data),
        "GOBIN": str(bin_),
    }

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    page = PAGE.read_text()
    addresses, token, described, go = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for name, path in re.findall(
        r"export (\w+)=\$\(classifeed status --json \| jq -r \.services\.(\w+)\.grpc\)", addresses
    ):
        environment[name] = status[path]["grpc"]
    run("sh", "-ec", token)
    environment["CLASSIFEED_TOKEN_FILE"] = str(tmp_path / "shop.token")
    blocking, concurrent = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    del environment["CLASSIFEED_DATA"]  # otherwise the examples would find the operator's token
    assert "SUCCEEDED 3 added" in run(sys.executable, "-c", blocking, feed)
    assert "3 offers" in run(sys.executable, "-c", concurrent, feed)
    shown = run("sh", "-ec", described)
    assert "// State of the task." in shown
    assert '"TASK_STATUS_SUCCEEDED"' in shown
    for folder in ("proto", "examples/go"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("contracts"))
    suite.wait(
        lambda: int(suite.run("search", "диван", "--seller", "shop").document["total"]) > 0,
        60,
        "the offers can be found",
    )
    counted, hits = run("sh", "-ec", go).splitlines()
    assert counted == "TASK_STATUS_SUCCEEDED: 0 added, 0 updated, 3 unchanged, 0 refused"
    assert int(hits.removesuffix(" hits")) > 0


def test_wrong_request_names_the_field(suite: Suite) -> None:
    status = suite.status()
    offers = status["services"]["offers"]["grpc"]
    get_offer = "classifeed.offers.v1.OfferService/GetOffer"
    result = ask(offers, get_offer, token=operator_token(status), name="offers/1")
    assert "Code: InvalidArgument" in result.stderr
    assert "name" in result.stderr


# Pictures does not run in this installation; the tests of the service cover its scheduled jobs.
@pytest.mark.parametrize("service", [service for service in JOB_SERVICES if service != "pictures"])
def test_every_service_with_jobs_keeps_schedules(suite: Suite, service: str) -> None:
    status = suite.status()
    address, token = status["services"][service]["grpc"], operator_token(status)

    def ask_jobs(method: str, **request: object) -> dict[str, object]:
        result = ask(address, f"classifeed.jobs.v1.JobService/{method}", token=token, **request)
        assert result.returncode == 0, result.stderr
        found: dict[str, object] = json.loads(result.stdout)
        return found

    ask_jobs("PutSchedule", name="e2e", queue="nobody works it", task="noop", lock_key="e2e", every_sec=1)
    suite.wait(lambda: "last_job_id" in ask_jobs("GetSchedule", name="e2e"), 60, "a slot made a job")
    ask_jobs("DeleteSchedule", name="e2e")
    daily = ask_jobs(
        "PutSchedule", name="e2e daily", queue="nobody works it", task="noop", lock_key="e2e", cron="@daily"
    )
    ask_jobs("DeleteSchedule", name="e2e daily")
    assert daily["time_zone"] == "Asia/Tokyo"  # the suite's TIMEZONE


def test_drain_is_seen_before_calls_are_refused(suite: Suite) -> None:
    service = suite.status()["services"]["searcher"]
    [pid] = set(service["pids"].values())
    with grpc.insecure_channel(service["grpc"]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(service=""), timeout=150)  # type: ignore[attr-defined]
        seen = [next(watch).status]
        os.kill(pid, signal.SIGTERM)
        seen.append(next(watch).status)
        watch.cancel()
    assert seen == [health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING]
    suite.wait(
        lambda: (
            suite.status()["services"]["searcher"]["state"] == "SERVING"
            and pid not in suite.status()["services"]["searcher"]["pids"].values()
        ),
        300,
        "the searcher was started again",
    )


def test_commands_end_as_documented(suite: Suite, seller: str, tmp_path: Path) -> None:
    suite.wait(lambda: suite.run("status").exit_code == 0, 300, "all is well")
    assert suite.run("up", "--detach").exit_code == 0, "on a running folder it says so"
    missing = suite.run("offer", "show", seller, "default", "nothing")
    assert missing.exit_code == 1
    assert missing.document["error"]["reason"] == "OFFER_NOT_FOUND"
    unknown = suite.run("task", "show", seller, "default", "77")
    assert (unknown.exit_code, unknown.document["error"]["reason"]) == (1, "TASK_NOT_FOUND")
    wrong = suite.run("search", "диван (угловой", "--seller", seller)
    assert (wrong.exit_code, wrong.document["error"]["metadata"]["position"]) == (1, "7")
    assert suite.run("feed", "upload", tmp_path / "none.yml", "--seller", seller).exit_code == 2
    elsewhere = Suite(tmp_path / "empty").run("status")
    assert elsewhere.document.get("ready") is not True
    away = Suite(tmp_path / "empty").run("search", "x")
    assert (away.exit_code, "error" in away.document) == (3, True)
