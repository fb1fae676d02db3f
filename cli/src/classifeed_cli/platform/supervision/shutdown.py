"""Stops the processes that `up` started in a folder, and no others."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from classifeed_cli.exit_codes import timed_out
from classifeed_cli.platform.planning.layout import Layout, read_json
from classifeed_cli.platform.probing.examination import identity_of


@dataclass(frozen=True, slots=True)
class Stopped:
    """The stopped processes."""

    supervisor: bool
    leftovers: tuple[str, ...]


def stop_installation(layout: Layout, timeout_s: float) -> Stopped:
    """Signal the supervisor to drain and stop, and wait for it; then kill processes that outlived a killed supervisor.

    Blocks. Processes are identified by pid and start time, so a reused pid is never signalled. Idempotent.

    Raises:
        CommandError: The supervisor still runs after `timeout_s`.
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
        # Not SIGKILL for PostgreSQL, as its child processes would survive; SIGQUIT stops them, too.
        number = signal.SIGQUIT if name == "postgres" else signal.SIGKILL
        if identity is not None and identity.send(number):
            identity.wait_gone(10)
            leftovers.append(name)
    layout.supervisor.unlink(missing_ok=True)
    return Stopped(was_running, tuple(leftovers))
