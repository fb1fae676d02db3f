"""Description of a running installation: the run document in its folder, and the document of `status`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from classifeed_cli.platform.planning.layout import Layout, read_json
from classifeed_cli.platform.probing.examination import SUPERVISOR, Health, addresses_of_parts, examine, identity_of
from classifeed_common.processes import ProcessIdentity

if TYPE_CHECKING:
    from classifeed_cli.platform.planning.plan import Plan
    from classifeed_cli.platform.supervision.supervised import Supervised

_FIRST_WORK_S: Final = 15.0
_LOOK_S: Final = 0.25


def describe_plan(
    plan: Plan,
    phase: str,
    parts: Sequence[Supervised],
    services: Sequence[Supervised],
    unwell_since: Mapping[str, str],
) -> dict[str, Any]:
    """Return the run document: the supervisor, and each process with pid, start time, addresses, log and restarts.

    `unwell_since` has the start times of problems that the supervisor has seen, by name.
    """
    me = ProcessIdentity.of(os.getpid())
    layout = plan.layout
    specs = {spec.name: spec for spec in plan.services}
    return {
        "pid": os.getpid(),
        "started": me.started if me else "",
        "phase": phase,
        "version": version("classifeed-cli"),
        "log": str(layout.log("supervisor")),
        "unwell_since": dict(unwell_since),
        "parts": {
            unit.name: {**_process(unit), "ready": unit.ready, "address": plan.address(unit.name)} for unit in parts
        },
        "services": {
            unit.name: {
                **_process(unit),
                "ready": unit.ready,
                "grpc": plan.address(f"{unit.name}.grpc"),
                "http": plan.address(f"{unit.name}.http"),
                "version": specs[unit.name].version,
            }
            for unit in services
        },
        "postgres": {spec.name: plan.dsn(spec.name) for spec in plan.services if spec.database},
        "kafka": plan.address("kafka") if "kafka" in plan.parts else None,
        "s3": {"endpoint": f"http://{plan.address('s3')}", "keys": str(layout.s3_keys)} if "s3" in plan.parts else None,
        "keys_dir": str(layout.keys),
        "tokens": {caller: str(layout.token(caller)) for caller in ("operator", "service")},
    }


def _process(unit: Supervised) -> dict[str, Any]:
    identity = unit.identity
    return {
        "pid": identity.pid if identity else None,
        "started": identity.started if identity else None,
        "log": str(unit.log),
        "restarts": unit.restarts,
        "restart_times": list(unit.restart_times),
        "last_exit": unit.last_exit,
        "last_words": unit.last_words,
    }


def read_running(layout: Layout) -> dict[str, Any] | None:
    """Return the run document of an installation whose supervisor runs; None if there is none."""
    document = read_json(layout.supervisor)
    if document is None:
        return None
    supervisor = identity_of(document)
    return document if supervisor is not None and supervisor.is_running() else None


async def describe_started(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of `status` after a start; wait some seconds for problems that disappear soon."""
    ends_s = time.monotonic() + _FIRST_WORK_S
    described = await describe_status(document)
    while not described["healthy"] and time.monotonic() < ends_s:
        await asyncio.sleep(_LOOK_S)
        described = await describe_status(document)
    return described


async def describe_status(document: dict[str, Any]) -> dict[str, Any]:
    """Probe every part and service, and return the document of `status --json`."""
    healths = await examine(document)
    services = {
        name: {
            **_health(healths[name]),
            "grpc": service["grpc"],
            "http": f"http://{service['http']}",
            "pids": {"all": service["pid"]} if service["pid"] else {},
            "log": service["log"],
            "restarts": service["restarts"],
            "version": service["version"],
        }
        for name, service in document["services"].items()
    }
    addresses = addresses_of_parts(document)
    parts = {
        name: {
            **_health(healths[name]),
            "address": addresses[name],
            "pid": part["pid"],
            "log": part["log"],
            "restarts": part["restarts"],
        }
        for name, part in document["parts"].items()
    }
    ready = (
        document["phase"] == "ready"
        and all(service["state"] == "SERVING" for service in services.values())
        and all(part["state"] == "RUNNING" for part in parts.values())
    )
    return {
        "ready": ready,
        "healthy": ready and all(health.is_well for health in healths.values()),
        "phase": document["phase"],
        "services": services,
        "parts": parts,
        "postgres": document["postgres"],
        "kafka": document["kafka"],
        "s3": document["s3"],
        "console": None,
        "tokens": document["tokens"],
        "supervisor": {
            **_health(healths[SUPERVISOR]),
            "pid": document["pid"],
            "log": document.get("log", ""),
            "version": document["version"],
        },
    }


def rows_of(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a document of `status` by name: the supervisor, then parts, then services."""
    yield "supervisor", document["supervisor"]
    yield from document["parts"].items()
    yield from document["services"].items()


def since_words(row: Mapping[str, Any]) -> str:
    """Return the start of a row's problems, in local time; empty if it has none."""
    return f"since {datetime.fromisoformat(row['since']).astimezone():%Y-%m-%d %H:%M:%S}" if row["since"] else ""


def _health(health: Health) -> dict[str, Any]:
    """Return the members for a health: `since` is the time of the oldest problem, `fixes` has one fix per problem."""
    return {
        "state": health.state,
        "problems": [problem.text for problem in health.problems],
        "since": min((problem.since for problem in health.problems), default=None),
        "fixes": [problem.fix for problem in health.problems],
    }
