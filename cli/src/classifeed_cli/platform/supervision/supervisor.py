"""The supervisor: starts the processes of a plan in order, restarts them, and stops them cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from classifeed_cli.exit_codes import CommandError, refused, timed_out, unavailable
from classifeed_cli.platform.planning.credentials import TOKEN_RENEWAL_S, write_tokens
from classifeed_cli.platform.planning.environment import python_environment
from classifeed_cli.platform.planning.layout import write_json
from classifeed_cli.platform.planning.migrate import PLAN_VARIABLE, describe_step
from classifeed_cli.platform.planning.plan import Plan
from classifeed_cli.platform.probing.health_watch import HealthWatch
from classifeed_cli.platform.supervision.description import describe_plan
from classifeed_cli.platform.supervision.supervised import SETTINGS_REFUSED, Supervised, ended
from classifeed_cli.platform.supervision.units import (
    embedded_servers,
    prepare_server,
    supervise_server,
    supervise_service,
)
from classifeed_devkit.embedded.kafka import prepare_kafka
from classifeed_devkit.embedded.process import ServerError, explain_os_error, spawn_bound, tail

_REWRITE_S: Final = 3.0


class Supervisor:
    """A running installation, for one event loop in the main thread.

    Args:
        plan: Plan of the installation; the caller has locked its folder.
        progress: Callback with progress messages. An OSError of it is ignored.
    """

    def __init__(self, plan: Plan, progress: Callable[[str], None] = lambda _: None) -> None:
        self.plan = plan
        self.phase = "starting"
        self.parts: list[Supervised] = []
        self.services: list[Supervised] = []
        self._progress = progress
        self._step = "preparing"
        self._tokens: asyncio.Task[None] | None = None
        self._health = HealthWatch(self._describe, self.write_state, self._report)
        self._watching: asyncio.Task[None] | None = None
        self._rewriting: asyncio.TimerHandle | None = None

    async def start(self, timeout_s: float) -> None:
        """Start the installation and wait until it is healthy; stop all processes on any error.

        Raises:
            CommandError: TIME_OUT, with the end of the logs of unhealthy processes; or a process cannot start.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._start()
        except TimeoutError:
            error = await self._explain_timeout(timeout_s)
            await self.stop()
            raise error from None
        except ServerError as error:
            await self.stop()
            raise unavailable("SERVER_NOT_STARTED", str(error)) from error
        except BaseException:
            await self.stop()
            raise
        self.phase = "ready"
        self.write_state()
        self._watching = asyncio.create_task(self._health.run(), name="watch health")

    async def stop(self) -> None:
        """Drain the services, then stop the embedded servers. May be called twice."""
        self.phase = "stopping"
        self.write_state()
        for task in (self._tokens, self._watching):
            if task is not None:
                task.cancel()
        for group in (self.services, self.parts):
            await asyncio.gather(*(unit.stop() for unit in group))
        self._forget_rewriting()
        self.plan.layout.supervisor.unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill all processes."""
        for unit in (*self.services, *self.parts):
            unit.kill()

    def write_state(self) -> None:
        """Write the run document, for `status`, `down` and clients of the services.

        If it cannot be written, for example on a full disk, the write is retried later and the caller continues.
        """
        is_first = self._rewriting is None
        self._forget_rewriting()
        try:
            write_json(self.plan.layout.supervisor, self._describe())
        except OSError as error:
            if is_first:
                self._report(f"the state cannot be written: {explain_os_error(error, self.plan.layout.root)}")
            self._rewriting = asyncio.get_running_loop().call_later(_REWRITE_S, self.write_state)

    def _forget_rewriting(self) -> None:
        if self._rewriting is not None:
            self._rewriting.cancel()
            self._rewriting = None

    def _report(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._progress(text)

    def _begin(self, step: str) -> None:
        self._step = step
        self._report(step)

    def _describe(self) -> dict[str, Any]:
        return describe_plan(self.plan, self.phase, self.parts, self.services, self._health.unwell_since)

    async def _start(self) -> None:
        started = time.monotonic()
        write_tokens(self.plan.layout, self.plan.table.services)
        self._tokens = asyncio.create_task(self._renew_tokens(), name="tokens")
        servers = embedded_servers(self.plan)
        if "kafka" in self.plan.parts:
            await asyncio.to_thread(prepare_kafka, None, self._begin)
        self._begin(f"starting {', '.join(server.name for server in servers)}")
        await asyncio.gather(*(asyncio.to_thread(prepare_server, server) for server in servers))
        self.parts = [supervise_server(server, self.write_state) for server in servers]
        for unit in self.parts:
            unit.start()
        migration = self._spawn_migration()  # its imports run while the servers start
        try:
            await self._wait_ready(self.parts)
            self._begin("migrating")
            await ended(migration)
        finally:
            if migration.poll() is None:
                migration.kill()
                migration.wait()
        if migration.returncode != 0:
            log = self.plan.layout.log("migrate")
            raise refused("MIGRATION_FAILED", f"the migrate step failed; the end of its log ({log}):\n{tail(log, 15)}")
        self.services = [supervise_service(self.plan, spec, self.write_state) for spec in self.plan.services]
        if self.services:
            self._begin(f"starting {', '.join(unit.name for unit in self.services)}")
        for unit in self.services:
            unit.start()
        await self._wait_ready(self.services)
        self._report(f"all ready after {time.monotonic() - started:.1f} s")

    def _spawn_migration(self) -> subprocess.Popen[bytes]:
        environment = {**python_environment(), PLAN_VARIABLE: describe_step(self.plan)}
        command = [sys.executable, "-m", "classifeed_cli.platform.planning.migrate"]
        return spawn_bound(command, log=self.plan.layout.log("migrate"), env=environment)

    async def _wait_ready(self, units: Sequence[Supervised]) -> None:
        waiting = [asyncio.create_task(self._wait_one(unit)) for unit in units]
        try:
            while not all(task.done() for task in waiting):
                for unit in units:
                    _check_hopeless(unit)
                await asyncio.wait(waiting, timeout=0.1)
            for task in waiting:
                task.result()
        finally:
            for task in waiting:
                task.cancel()

    async def _wait_one(self, unit: Supervised) -> None:
        started = time.monotonic()
        await unit.wait_ready()
        self._report(f"{unit.name} ready after {time.monotonic() - started:.1f} s")

    async def _explain_timeout(self, timeout_s: float) -> CommandError:
        units = [*self.parts, *self.services]
        healthy = await asyncio.gather(*(unit.probe() for unit in units))
        sick = [unit for unit, well in zip(units, healthy, strict=True) if not well]
        if not sick:
            return timed_out("START_TIMED_OUT", f"not ready after {timeout_s:g} s, while {self._step}", step=self._step)
        tails = "\n".join(f"--- {unit.name} ({unit.log}) ---\n{tail(unit.log, 15)}" for unit in sick)
        names = ", ".join(unit.name for unit in sick)
        return timed_out("START_TIMED_OUT", f"not healthy after {timeout_s:g} s: {names}\n{tails}", services=names)

    async def _renew_tokens(self) -> None:
        while True:
            await asyncio.sleep(TOKEN_RENEWAL_S)
            try:
                write_tokens(self.plan.layout, self.plan.table.services)
            except OSError as error:  # the existing tokens are valid for several rounds
                self._report(f"tokens were not renewed: {explain_os_error(error, self.plan.layout.root)}")


def _check_hopeless(unit: Supervised) -> None:
    """Raise the error of a unit whose restart would fail again."""
    if unit.refusal is not None:
        raise unavailable("SERVER_NOT_STARTED", unit.refusal)
    if unit.last_exit == SETTINGS_REFUSED:
        raise refused("SETTINGS_REFUSED", f"{unit.name} refuses its settings: {tail(unit.log, 3)}")
    if unit.restarts >= 4:
        raise unavailable(
            "KEEPS_DYING",
            f"{unit.name} exited {unit.restarts + 1} times while starting; "
            f"the end of its log ({unit.log}):\n{tail(unit.log, 15)}",
        )
