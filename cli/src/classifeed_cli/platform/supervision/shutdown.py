"""Stops what `up` started in a folder, and nothing else."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from classifeed_cli.exit_codes import timed_out
from classifeed_cli.platform.planning.layout import Layout, read_json
from classifeed_cli.platform.probing.examination import identity_of


@dataclass(frozen=True, slots=True)
class Stopped:
    """What was found and stopped."""

    supervisor: bool
    leftovers: tuple[str, ...]


def stop_installation(layout: Layout, timeout_s: float) -> Stopped:
    """Ask the supervisor to drain and stop, wait for it; then end processes that outlived a killed supervisor.

    Blocks. Processes are known by pid and start time, so that a pid in use by a stranger is left alone. Idempotent.

    Raises:
        CommandError: the supervisor still runs after `timeout_s`.
    """
    document = read_json(layout.supervisor)
    if document is None:
        return Stopped(False, ())
    supervisor = identity_of(document)
    was_running = supervisor is not None and supervisor.send(signal.SIGTERM)
    if supervisor is not None and was_running and not supervisor.wait_gone(timeout_s):
        raise timed_out(
            "STOP_TIMED_OUT",
            f"the supervisor (pid {supervisor.pid}) is still draining after {timeout_s:g} s: "
            f"wait, or see {layout.log('supervisor')}",
        )
    leftovers = []
    for name, process in {**document["services"], **document["parts"]}.items():
        identity = identity_of(process)
        # PostgreSQL must not be killed outright while its children live: SIGQUIT takes them along.
        number = signal.SIGQUIT if name == "postgres" else signal.SIGKILL
        if identity is not None and identity.send(number):
            identity.wait_gone(10)
            leftovers.append(name)
    layout.supervisor.unlink(missing_ok=True)
    return Stopped(was_running, tuple(leftovers))
