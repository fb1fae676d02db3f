"""What a running installation says about itself: the document in its run folder, and `status` made from it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from classifeed_cli.platform.layout import Layout, read_json
from classifeed_cli.platform.probe import get_readiness
from classifeed_common.embedded.process import ProcessIdentity

if TYPE_CHECKING:
    from classifeed_cli.platform.plan import Plan
    from classifeed_cli.platform.supervised import Supervised


def describe_plan(
    plan: Plan, phase: str, parts: Sequence[Supervised], services: Sequence[Supervised]
) -> dict[str, Any]:
    """The run document: who supervises, and each process with its pid, start time, addresses, log and restarts."""
    me = ProcessIdentity.of(os.getpid())
    layout = plan.layout
    specs = {spec.name: spec for spec in plan.services}
    return {
        "pid": os.getpid(),
        "started": me.started if me else "",
        "phase": phase,
        "version": version("classifeed-cli"),
        "parts": {unit.name: {**_process(unit), "ready": unit.ready} for unit in parts},
        "services": {
            unit.name: {
                **_process(unit),
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
    identity = unit.identity if unit.alive else None
    return {
        "pid": identity.pid if identity else None,
        "started": identity.started if identity else None,
        "log": str(unit.log),
        "restarts": unit.restarts,
    }


def identity_of(process: dict[str, Any]) -> ProcessIdentity | None:
    """The identity that a run document names, None when it names none."""
    return ProcessIdentity(process["pid"], process["started"]) if process.get("pid") else None


def read_running(layout: Layout) -> dict[str, Any] | None:
    """The run document of an installation whose supervisor lives; None when there is none."""
    document = read_json(layout.supervisor)
    if document is None:
        return None
    supervisor = identity_of(document)
    return document if supervisor is not None and supervisor.is_running() else None


async def describe_status(document: dict[str, Any]) -> dict[str, Any]:
    """The document of `status --json`: every service is asked now."""
    names = list(document["services"])
    states = await asyncio.gather(*(_state(document["services"][name]) for name in names))
    services = {}
    for name, (state, problems) in zip(names, states, strict=True):
        service = document["services"][name]
        services[name] = {
            "state": state,
            "problems": problems,
            "grpc": service["grpc"],
            "http": f"http://{service['http']}",
            "pids": {"all": service["pid"]} if service["pid"] else {},
            "log": service["log"],
            "restarts": service["restarts"],
            "version": service["version"],
        }
    parts = {}
    for name, part in document["parts"].items():
        identity = identity_of(part)
        alive = identity is not None and identity.is_running()
        parts[name] = {
            "state": ("RUNNING" if part["ready"] else "STARTING") if alive else "DOWN",
            "pid": part["pid"],
            "log": part["log"],
            "restarts": part["restarts"],
        }
    ready = (
        document["phase"] == "ready"
        and all(state == "SERVING" for state, _ in states)
        and all(part["state"] == "RUNNING" for part in parts.values())
    )
    return {
        "ready": ready,
        "phase": document["phase"],
        "services": services,
        "parts": parts,
        "postgres": document["postgres"],
        "kafka": document["kafka"],
        "s3": document["s3"],
        "console": None,
        "tokens": document["tokens"],
        "supervisor": {"pid": document["pid"], "version": document["version"]},
    }


async def _state(service: dict[str, Any]) -> tuple[str, list[str]]:
    """The state of a service, and in words what is wrong with it."""
    identity = identity_of(service)
    if identity is None or not identity.is_running():
        return "DOWN", [f"the process does not run; its log is {service['log']}"]
    ready, problems = await get_readiness(service["http"])
    return "SERVING" if ready else "NOT_SERVING", problems
