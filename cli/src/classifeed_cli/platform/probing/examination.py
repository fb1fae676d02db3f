"""Examination of a running installation: probes each part and service concurrently, in at most 3 s.

The supervisor probes every few seconds, to record the start of each problem; `status` and `doctor` probe again.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from classifeed_cli.platform.probing.part_probe import find_fault
from classifeed_cli.platform.probing.probe import get_readiness
from classifeed_common.auth import TokenRecordsError, list_team_tokens
from classifeed_common.processes import ProcessIdentity

SUPERVISOR: Final = "supervisor"
RESTARTS: Final = 3
RESTARTS_WITHIN_S: Final = 600.0
_LINE_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of the installation.

    Attributes:
        text: Description.
        since: Time of its first detection, ISO 8601; empty if not known yet.
        fix: Fix; empty if the text contains it.
    """

    text: str
    since: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """State of a part or a service: RUNNING, SERVING, STARTING, NOT_SERVING or DOWN; and its problems."""

    state: str
    problems: tuple[Problem, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether it works without problems."""
        return not self.problems and self.state in {"RUNNING", "SERVING"}


async def examine(document: Mapping[str, Any]) -> dict[str, Health]:
    """Return the health of the supervisor, of each part and of each service, in this order.

    Args:
        document: Run document of the supervisor; its `unwell_since` has the start times of problems.
    """
    addresses = addresses_of_parts(document)
    parts, services = document["parts"], document["services"]
    found = await asyncio.gather(
        *(_examine_part(name, part, addresses[name]) for name, part in parts.items()),
        *(_examine_service(service) for service in services.values()),
    )
    processes = {**parts, **services}
    looked = dict(zip(processes, found, strict=True))
    restarted = {name: _with_restarts(processes[name], health) for name, health in looked.items()}
    healths = {SUPERVISOR: _examine_supervisor(document), **restarted}
    unwell = {name for name, health in healths.items() if not health.is_well}
    since = document.get("unwell_since", {})
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        name: replace(health, problems=tuple(_complete(each, since.get(name, now), unwell) for each in health.problems))
        for name, health in healths.items()
    }


def addresses_of_parts(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the address of each embedded server of a run document, host:port."""
    known = {"kafka": document["kafka"], "s3": ((document["s3"] or {}).get("endpoint") or "").removeprefix("http://")}
    dsn = next(iter(document["postgres"].values()), "")
    known["postgres"] = dsn.rpartition("@")[2].partition("/")[0]
    return {name: part.get("address") or known[name] or "" for name, part in document["parts"].items()}


def identity_of(process: Mapping[str, Any]) -> ProcessIdentity | None:
    """Return the identity of a process in a run document; None if it has none."""
    return ProcessIdentity(process["pid"], process["started"]) if process.get("pid") else None


def _examine_supervisor(document: Mapping[str, Any]) -> Health:
    identity = identity_of(document)
    if identity is not None and identity.pid != os.getpid() and identity.is_suspended():
        return Health("NOT_SERVING", (_suspended(identity.pid, "a process that exits is not restarted meanwhile"),))
    return Health("RUNNING", tuple(_examine_tokens(document)))


def _examine_tokens(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of the list of tokens. Services report them only after a team has sent a token."""
    if not document["keys_dir"]:
        return
    try:
        records = list_team_tokens(Path(document["keys_dir"]))
    except TokenRecordsError as error:
        yield Problem(f"team tokens: {error.fault}", fix=error.fix)
        return
    now_s = datetime.now(UTC).timestamp()
    unbound = [each for each in records if not each.owners and each.revoked_at is None and each.expires_at > now_s]
    if unbound:
        teams = ", ".join(sorted({each.team for each in unbound}))
        yield Problem(
            f"team tokens: {len(unbound)} name no seller, so they are refused: those of {teams}",
            fix=f"`classifeed token bind {unbound[0].token_id} --seller SELLER` (or --all-sellers) for each; "
            "`classifeed token list` shows them.",
        )


async def _examine_part(name: str, part: Mapping[str, Any], address: str) -> Health:
    if (ill := _examine_process(part)) is not None:
        return ill
    fault = await find_fault(name, address)
    if fault is not None and (ill := _examine_process(part)) is not None:
        return ill  # it was stopped meanwhile
    if not part["ready"]:
        return _starting(fault or "")
    return Health("RUNNING") if fault is None else Health("NOT_SERVING", (Problem(fault, fix=_restart(part["pid"])),))


async def _examine_service(service: Mapping[str, Any]) -> Health:
    if (ill := _examine_process(service)) is not None:
        return ill
    readiness = await get_readiness(service["http"])
    if readiness is None and (ill := _examine_process(service)) is not None:
        return ill  # it was stopped meanwhile
    if readiness is None and not service.get("ready", True):
        return _starting("")
    if readiness is None:
        text = f"does not respond at http://{service['http']}/health/ready"
        return Health("NOT_SERVING", (Problem(text, fix=_restart(service["pid"])),))
    problems = tuple(Problem(text, since) for text, since in readiness.problems)
    return Health("SERVING" if readiness.is_ready else "NOT_SERVING", problems)


def _examine_process(process: Mapping[str, Any]) -> Health | None:
    """Return the health of a process that has exited or is suspended; None if it runs."""
    identity = identity_of(process)
    if identity is None or not identity.is_running():
        fix = "The supervisor starts it again; its log says why it exited."
        return Health("DOWN", (Problem("its process does not run", fix=fix),))
    if identity.is_suspended():
        return Health("NOT_SERVING", (_suspended(identity.pid, "what depends on it waits"),))
    return None


def _with_restarts(process: Mapping[str, Any], health: Health) -> Health:
    """Return the health of a process, with an additional problem if it exits repeatedly."""
    now_s = time.time()
    recent = [at_s for at_s in process.get("restart_times", ()) if at_s > now_s - RESTARTS_WITHIN_S]
    if len(recent) < RESTARTS:
        return health
    lines = [line[:_LINE_CHARACTERS] for line in process.get("last_words", "").splitlines() if line.strip()]
    loop = Problem(
        f"its process exited {len(recent)} times within {RESTARTS_WITHIN_S / 60:g} minutes, the last time with code "
        f"{process.get('last_exit')}",
        since=datetime.fromtimestamp(recent[0], UTC).isoformat(timespec="seconds"),
        fix="\n".join(["Correct the cause; until then the process is started again. Its log ended with:", *lines]),
    )
    is_starting = health.state == "STARTING"
    others = () if is_starting else health.problems
    return Health("NOT_SERVING" if is_starting else health.state, (loop, *others))


def _starting(fault: str) -> Health:
    text = f"is starting: {fault}" if fault else "is starting"
    return Health("STARTING", (Problem(text, fix="Wait; its log shows its progress."),))


def _suspended(pid: int, effect: str) -> Problem:
    return Problem(
        f"its process {pid} was stopped by a signal: {effect}",
        fix=f"`kill -CONT {pid}` resumes it.",
    )


def _restart(pid: int) -> str:
    return f"See its log. `kill -9 {pid}` stops the process, and the supervisor starts it again."


def _complete(problem: Problem, since: str, unwell: Collection[str]) -> Problem:
    """Return the problem with its time, and with a fix if it is caused by the problem of another service or part."""
    fix = problem.fix
    missed = problem.text.partition(":")[0]
    if not fix and missed in unwell:
        fix = f"It continues automatically once {missed} works again."
    return replace(problem, since=problem.since or since, fix=fix)
