"""The supervisor process, in the foreground of `up`, or detached as `python -m` of this module."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from classifeed_cli.exit_codes import CommandError, ExitCode, refused, unavailable
from classifeed_cli.platform.planning.environment import python_environment
from classifeed_cli.platform.planning.layout import Layout, read_json, write_json
from classifeed_cli.platform.planning.plan import make_plan
from classifeed_cli.platform.supervision.description import read_running
from classifeed_cli.platform.supervision.supervisor import Supervisor
from classifeed_common.loops import race
from classifeed_devkit.embedded.process import ServerError, tail


def serve(
    layout: Layout,
    only: Sequence[str],
    timeout_s: float,
    *,
    progress: Callable[[str], None],
    on_ready: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Run an installation in this process until SIGINT or SIGTERM; a second signal kills it without draining.

    Raises:
        CommandError: The installation cannot start, or another one runs in the folder.
    """
    layout.prepare()
    lock = layout.lock()
    if lock is None:
        raise refused("ALREADY_RUNNING", f"an installation runs in {layout.root}")
    with lock:
        supervisor = Supervisor(make_plan(layout, only), progress)
        asyncio.run(_serve(supervisor, timeout_s, on_ready))


async def _serve(supervisor: Supervisor, timeout_s: float, on_ready: Callable[[], Awaitable[None]] | None) -> None:
    stop = asyncio.Event()

    def on_signal() -> None:
        if stop.is_set():
            supervisor.kill()
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    [starting] = await race(stop, supervisor.start(timeout_s))
    if starting.cancelled():  # it has stopped the started processes
        return
    starting.result()
    if on_ready is not None:
        await on_ready()
    await stop.wait()
    await supervisor.stop()


def start_detached(layout: Layout, only: Sequence[str], timeout_s: float) -> dict[str, Any]:
    """Start a supervisor that outlives this process; return its run document when everything is healthy.

    Raises:
        CommandError: The error of the supervisor.
    """
    layout.prepare()
    layout.failure.unlink(missing_ok=True)
    log = layout.log("supervisor")
    command = [sys.executable, "-m", __name__, "--data", str(layout.root), "--timeout", str(timeout_s)]
    for name in only:
        command += ["--only", name]
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=python_environment(),
        )
    while True:
        document = read_running(layout)
        if document is not None and document["pid"] == process.pid and document["phase"] == "ready":
            return document
        if process.poll() is not None:
            raise _read_failure(layout, log)
        time.sleep(0.05)


def wait_for_other(layout: Layout, timeout_s: float) -> dict[str, Any] | None:
    """Return the run document of the installation in this folder, once it is ready; None if none runs.

    Blocks while another process starts or stops it.

    Raises:
        CommandError: The installation is not ready within the timeout.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        document = read_running(layout)
        if document is not None and document["phase"] == "ready":
            return document
        if document is None and not _is_locked(layout):
            return None
        if time.monotonic() > deadline:
            phase = document["phase"] if document else "starting"
            raise CommandError(
                ExitCode.TIME_OUT, "START_TIMED_OUT", f"the installation in {layout.root} has been {phase} too long"
            )
        time.sleep(0.05)


def _is_locked(layout: Layout) -> bool:
    lock = layout.lock()
    if lock is None:
        return True
    lock.close()
    return False


def _read_failure(layout: Layout, log: Path) -> CommandError:
    failure = read_json(layout.failure)
    if failure is None:
        return unavailable("SUPERVISOR_DIED", f"the supervisor exited; the end of its log ({log}):\n{tail(log, 15)}")
    error = failure["error"]
    return CommandError(ExitCode(failure["exit_code"]), error["reason"], error["message"], error["metadata"])


def main() -> None:
    """Run the detached process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--only", action="append", default=[])
    arguments = parser.parse_args()
    layout = Layout(arguments.data)
    _log(f"supervisor {os.getpid()} starts")
    try:
        serve(layout, arguments.only, arguments.timeout, progress=_log)
    except ServerError as error:
        _fail(layout, unavailable("SERVER_NOT_STARTED", str(error)))
    except CommandError as error:
        _fail(layout, error)


def _log(text: str) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z {text}", flush=True)


def _fail(layout: Layout, error: CommandError) -> None:
    write_json(layout.failure, {"exit_code": int(error.exit_code), **error.as_document()})
    sys.exit(f"classifeed: {error.message}")


if __name__ == "__main__":
    main()
