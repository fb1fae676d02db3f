from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from classifeed_common.processes import ProcessIdentity
from classifeed_devkit.testing.campaigns import in_campaigns

Cli = Any
Eventually = Callable[..., None]


def processes_of(document: dict[str, Any]) -> list[ProcessIdentity]:
    rows = [document, *document["parts"].values(), *document["services"].values()]
    return [ProcessIdentity(row["pid"], row["started"]) for row in rows]


def processes(status: dict[str, Any]) -> list[ProcessIdentity]:
    pids = [status["supervisor"]["pid"], *(part["pid"] for part in status["parts"].values())]
    pids += [pid for service in status["services"].values() for pid in service["pids"].values()]
    found = [ProcessIdentity.of(pid) for pid in pids]
    assert None not in found
    return [identity for identity in found if identity is not None]


@pytest.mark.slow
def test_one_start_gives_addresses_databases_keys_and_leaves_nothing_behind(cli: Cli) -> None:
    up = cli.json("up", "--detach", "--only", "alpha,beta", CLASSIFEED_JOBS_LEASE_S="3", CLASSIFEED_BETA_SHAPE="flat")
    assert up["ready"] is True
    assert set(up["parts"]) == {"postgres", "kafka", "s3"}
    status = cli.json("status")
    assert {name: row["state"] for name, row in status["services"].items()} == {"alpha": "SERVING", "beta": "SERVING"}
    running = processes(status)

    # the environment of a service
    alpha = json.loads(cli.service_file("alpha", "environment.json").read_text())
    beta = json.loads(cli.service_file("beta", "environment.json").read_text())
    assert alpha["CLASSIFEED_ALPHA_BETA_ADDRESS"] == status["services"]["beta"]["grpc"]
    assert alpha["CLASSIFEED_ALPHA_KAFKA_BOOTSTRAP"] == status["kafka"]
    assert alpha["CLASSIFEED_ALPHA_S3_ENDPOINT"] == status["s3"]["endpoint"]
    assert alpha["CLASSIFEED_ALPHA_SECRETS_FILE"] == str(cli.data / "keys" / "seal.keys")
    assert "CLASSIFEED_ALPHA_DSN" not in alpha
    assert "CLASSIFEED_BETA_SECRETS_FILE" not in beta
    assert beta["CLASSIFEED_BETA_JOBS_LEASE_S"] == "3"
    assert (beta["CLASSIFEED_BETA_COLOUR"], beta["CLASSIFEED_BETA_SHAPE"]) == ("blue", "flat")
    assert not any("postgres:" in value for value in beta.values()), "a service may not know the superuser"

    # its own database only, migrated
    with psycopg.connect(status["postgres"]["beta"]) as connection:
        assert connection.execute("SELECT count(*) FROM beta.things").fetchone() == (0,)
    foreign = re.sub(r"/beta$", "/postgres", status["postgres"]["beta"])
    with closing(psycopg.connect(foreign)) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE TABLE intruder (n int)")

    # private keys and tokens
    assert stat.S_IMODE((cli.data / "keys").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (cli.data / "keys").iterdir()} == {0o600}
    assert Path(status["tokens"]["operator"]).read_text().count(".") == 2

    # a second `up` reports it; `down` drains and leaves nothing running
    again = cli.run("up", "--detach")
    assert (again.returncode, "already running" in again.stdout) == (0, True)
    assert cli.json("down") == {"stopped": True, "leftovers": []}
    assert not [identity for identity in running if identity.is_running()]
    assert cli.service_file("alpha", "drained").read_text() == str(int(signal.SIGTERM))
    assert cli.json("status", code=3)["error"]["reason"] == "NOT_RUNNING"


@pytest.mark.slow
def test_what_dies_is_started_again_at_the_same_addresses_and_settle_waits_for_every_backlog(
    cli: Cli, eventually: Eventually
) -> None:
    before = cli.json("up", "--detach", "--only", "beta")
    for victim in (before["services"]["beta"]["pids"]["all"], before["parts"]["postgres"]["pid"]):
        os.kill(victim, signal.SIGKILL)

    def healed() -> bool:
        ended = cli.run("status", "--json")
        now = json.loads(ended.stdout)
        assert ended.returncode == (0 if now["healthy"] else 1)
        restarts = (now["parts"]["postgres"]["restarts"], now["services"]["beta"]["restarts"])
        return bool(now["healthy"]) and min(restarts) > 0

    eventually(healed)
    after = cli.json("status")
    assert after["services"]["beta"]["restarts"] == 1
    assert after["services"]["beta"]["grpc"] == before["services"]["beta"]["grpc"]
    assert after["services"]["beta"]["http"] == before["services"]["beta"]["http"]
    assert after["services"]["beta"]["pids"] != before["services"]["beta"]["pids"]
    with psycopg.connect(after["postgres"]["beta"]) as connection:
        assert connection.execute("SELECT count(*) FROM beta.things").fetchone() == (0,)


@pytest.mark.slow
@in_campaigns
def test_what_outlives_a_killed_supervisor_and_what_dies_with_it(cli: Cli) -> None:
    first = cli.json("up", "--detach", "--only", "beta")
    with psycopg.connect(first["postgres"]["beta"], autocommit=True) as connection:
        connection.execute("INSERT INTO beta.things VALUES (7)")
    running = processes(first)
    os.kill(first["supervisor"]["pid"], signal.SIGKILL)
    assert all(identity.wait_gone(60) for identity in running)
    assert cli.json("status", code=3)["error"]["reason"] == "NOT_RUNNING"

    second = cli.json("up", "--detach", "--only", "beta")
    assert second["services"]["beta"]["grpc"] == first["services"]["beta"]["grpc"]
    assert second["postgres"] == first["postgres"]
    with psycopg.connect(second["postgres"]["beta"]) as connection:
        assert connection.execute("SELECT n FROM beta.things").fetchone() == (7,)

    # `down` does not signal another process with the same pid
    run_file = cli.data / "run" / "supervisor.json"
    document = json.loads(run_file.read_text())
    os.kill(second["supervisor"]["pid"], signal.SIGKILL)
    assert all(identity.wait_gone(60) for identity in processes_of(document))
    document["services"]["beta"] |= {"pid": os.getpid(), "started": "1"}
    run_file.write_text(json.dumps(document))
    assert cli.json("down") == {"stopped": False, "leftovers": []}  # this process was not signalled

    # the database has a password, whose file is lost
    (cli.data / "keys" / "postgres.json").unlink()
    error = cli.json("up", "--detach", "--only", "beta", code=3)["error"]
    assert error["reason"] == "KEY_FILE_LOST"
    assert "postgres.json is missing" in error["message"]
    assert "\n" not in error["message"]


@pytest.mark.slow
def test_ctrl_c_stops_a_foreground_start(cli: Cli, eventually: Eventually) -> None:
    with cli.start("up", "--only", "beta") as process:
        eventually(lambda: cli.run("status").returncode == 0 and cli.json("status")["ready"])
        running = processes(cli.json("status"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    assert "beta" in out
    assert "Ctrl-C stops it" in out
    assert not [identity for identity in running if identity.is_running()]


def test_a_missing_package_is_one_line(cli: Cli) -> None:
    done = cli.run("up", "--detach", "--only", "gamma")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        "classifeed: gamma: package fake_gamma is missing: run `make setup`, or leave it out with --only"
    )
    assert cli.json("up", "--only", "gamma", code=3)["error"]["reason"] == "PACKAGE_MISSING"


def test_a_used_port_is_one_line(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = cli.json("up", "--detach", "--only", "beta", code=3, CLASSIFEED_POSTGRES_PORT=str(port))["error"]
    assert error["reason"] == "PORT_IN_USE"
    assert error["metadata"] == {"port": str(port)}
    assert "\n" not in error["message"]


@pytest.mark.slow
def test_refused_settings_end_the_start_at_once(cli: Cli) -> None:
    error = cli.json("up", "--detach", "--only", "beta", code=1, CLASSIFEED_BETA_REFUSE="x")["error"]
    assert error["reason"] == "SETTINGS_REFUSED"
    assert "CLASSIFEED_BETA_REFUSE='x' is refused" in error["message"]


@pytest.mark.slow
@in_campaigns
def test_a_service_that_keeps_dying_ends_the_start_with_its_log(cli: Cli) -> None:
    error = cli.json("up", "--detach", "--only", "beta", code=3, CLASSIFEED_BETA_DIE="1")["error"]
    assert error["reason"] == "KEEPS_DYING"
    assert "beta cannot live like this" in error["message"]


@pytest.mark.slow
@in_campaigns
def test_a_time_out_shows_the_log_of_what_is_not_healthy_and_leaves_nothing(cli: Cli) -> None:
    error: dict[str, Any] = {}
    for timeout_s in (15, 60, 240):  # the first timeout that is long enough to start the servers
        error = cli.json(
            "up", "--detach", "--only", "beta", "--timeout", str(timeout_s), code=4, CLASSIFEED_BETA_SICK="1"
        )["error"]
        if error["metadata"] == {"services": "beta"}:
            break
    assert error["metadata"] == {"services": "beta"}
    assert "beta serves" in error["message"]
    assert cli.json("status", code=3)["error"]["reason"] == "NOT_RUNNING"


def test_wrong_usage_is_said_as_json_too(cli: Cli) -> None:
    assert cli.json("up", "--only", "nonsense", code=2)["error"]["reason"] == "USAGE"
    assert cli.json("status", "--nonsense", code=2)["error"]["reason"] == "USAGE"
    assert cli.run("--help").returncode == 0


def test_doctor_names_what_is_missing(cli: Cli) -> None:
    report = cli.json("doctor", code=1)
    outcomes = {check["check"]: check["outcome"] for check in report["checks"]}
    assert outcomes["postgres"] == outcomes["java"] == outcomes["s3"] == outcomes["alpha"] == "ok"
    assert outcomes["gamma"] == "failed"
    assert report["healthy"] is False
