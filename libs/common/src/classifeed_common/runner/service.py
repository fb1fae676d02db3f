"""ServiceRunner: one process of a service, with serving, roles, health and drain."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, Final

import grpc.aio
import structlog
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from grpc_reflection.v1alpha import reflection
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from classifeed_common.auth.policy import Policy
from classifeed_common.auth.service_tokens import KeyStore
from classifeed_common.errors import FailedPrecondition, Unavailable, name_fault
from classifeed_common.faults.passing import is_passing
from classifeed_common.http.app import build_app
from classifeed_common.http.backlog import BacklogSource
from classifeed_common.http.server import HttpServer, address_of, bind
from classifeed_common.loops import race
from classifeed_common.rpc.health import Health
from classifeed_common.rpc.reflection import add_reflection
from classifeed_common.rpc.server import Servicer, build_server
from classifeed_common.runner.listening import ListenError, allowed_hosts, require_keys, write_run_file
from classifeed_common.runner.parts import SchemaCheck
from classifeed_common.runner.readiness import Check, Readiness, Since
from classifeed_common.runner.role import Role, RoleEndedError, run_role
from classifeed_common.settings import ServiceSettings

SERVE: Final = "serve"
_DATABASE: Final = "postgres"
_OPENING_POLL_S: Final = 0.5
_log = structlog.get_logger("runner")

Opening = Callable[[], Awaitable[None]]


async def _nothing() -> None:
    return


async def _fault_of(opening: Opening) -> str | None:
    """Return why something cannot be opened now; None: it is open."""
    try:
        await opening()
    except Exception as error:
        if isinstance(error, FailedPrecondition):
            return str(error)
        if not is_passing(error):
            raise
        return name_fault(error)
    return None


class ServiceRunner:
    """Runs the declared parts of a service; call `run` once per object.

    Args:
        settings: addresses, keys, drain times and roles.
        service: name of the service.
        version: version of the service, shown on /health.
        roles: loops of the service; they start once `on_start` has returned, and are stopped together.
        servicers: gRPC services; without the role `serve`, only health and reflection are served.
        schema: check of its database; nothing is opened before the migrate step has run. None: it has no database.
        readiness: checks of further required dependencies, by name; each raises while its dependency is missing.
        opens: functions that open dependencies before `on_start`, in this order, by their names in readiness. The
            process waits for a dependency that does not respond, reports it, and calls the function again.
        on_start: opens pools and producers; a failure ends the process.
        on_stop: closes them; also called if `on_start` failed half-way.
        routes: further HTTP routes, which take precedence over the standard ones; left out without the role `serve`.
        policy: policy of callers and methods.
        keys: keys that verify tokens; None: those of `settings.keys_dir`.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        service: str,
        version: str,
        *,
        roles: Sequence[Role] = (),
        servicers: Sequence[Servicer] = (),
        schema: SchemaCheck | None = None,
        readiness: Mapping[str, Check] | None = None,
        opens: Mapping[str, Opening] | None = None,
        on_start: Callable[[], Coroutine[Any, Any, None]] = _nothing,
        on_stop: Callable[[], Coroutine[Any, Any, None]] = _nothing,
        routes: Sequence[BaseRoute] = (),
        policy: Policy,
        keys: KeyStore | None = None,
    ) -> None:
        names = [role.name for role in roles]
        if len({SERVE, *names}) != len(names) + 1:
            raise ValueError(f"roles of {service} must have different names, none of them {SERVE!r}: {names}")
        self.settings = settings
        self.service = service
        self._version = version
        self._roles = {role.name: role for role in roles}
        self._servicers = list(servicers)
        self._opens = dict(opens or {})
        if schema is not None:
            self._opens = {_DATABASE: schema.check_alone, **self._opens}
        self._on_start, self._on_stop = on_start, on_stop
        if keys is None and settings.keys_dir is not None:
            keys = KeyStore(settings.keys_dir)
        self._routes, self._policy, self._keys = routes, policy, keys
        self._health = Health(servicer.name for servicer in self._servicers)
        checks: dict[str, Check] = {} if schema is None else {_DATABASE: schema}
        self._readiness = Readiness({**checks, **(readiness or {})}, self._health.set_serving)
        self._blocked_since = Since()
        self._started = False
        self._draining = False
        self._selected: frozenset[str] = frozenset()
        self.grpc_address = ""
        self.http_address = ""

    @property
    def role_names(self) -> list[str]:
        """Every role that can be selected, `serve` first."""
        return [SERVE, *(name for name, role in self._roles.items() if not role.is_everywhere)]

    @property
    def is_ready(self) -> bool:
        """Whether the process accepts traffic."""
        return self._health.is_serving

    @property
    def refusal(self) -> Unavailable | None:
        """Reason why the service's routes accept no request now; None: they do."""
        if self._draining:
            return Unavailable(
                "DRAINING", f"{self.service} is stopping. Call another replica, or try again.", retry_after_s=1
            )
        if not self._started:
            return Unavailable("STARTING", f"{self.service} is still starting. Try again.", retry_after_s=1)
        return None

    @property
    def blocked(self) -> dict[str, dict[str, str]]:
        """Items that roles of this process cannot continue with, and the reasons, by role; other roles are left out."""
        sources = {name: role.blocked for name, role in self._roles.items() if name in self._selected}
        found = {name: dict(blocked()) for name, blocked in sources.items() if blocked is not None}
        if SERVE in self._selected and self._keys is not None:
            found[SERVE] = self._keys.faults
        return {name: items for name, items in found.items() if items}

    def describe(self) -> dict[str, object]:
        """Return the response of /health; `degraded` means ready for calls while a role is blocked.

        `since` has the time since which each dependency has been missing, and each item (`<role>: <item>`) blocked, in
        UTC.
        """
        blocked = self.blocked
        self._blocked_since.note(named := [f"{role}: {what}" for role, items in blocked.items() for what in items])
        return {
            "service": self.service,
            "version": self._version,
            "status": ("degraded" if blocked else "ready") if self.is_ready else "not ready",
            "roles": sorted(self._selected),
            "missing": dict(self._readiness.faults),
            "blocked": blocked,
            "since": self._readiness.missing_since | self._blocked_since.of(named),
        }

    async def check(self) -> dict[str, str]:
        """Open everything, check each dependency once, and close; return the missing dependencies by name."""
        try:
            for name, opening in self._opens.items():
                if (fault := await _fault_of(opening)) is not None:
                    return {name: fault}
            await self._on_start()
            await self._readiness.check()
            return dict(self._readiness.faults)
        finally:
            await self._on_stop()

    async def run(self, stop: asyncio.Event, selected: Collection[str] | None = None) -> int:
        """Run until `stop` is set or a role fails, drain, and return the exit code: 0, or 1 after a failure.

        Args:
            stop: ends the process in order: health reports NOT_SERVING, roles complete their work, new calls are
                refused, and calls under way may complete within the grace time.
            selected: roles to run, with `serve` to serve calls; None: all. Roles that run everywhere are added.

        Raises:
            ListenError: an address is in use, or would be open to anybody.
        """
        everywhere = {name for name, role in self._roles.items() if role.is_everywhere}
        self._selected = frozenset(everywhere.union(self.role_names if selected is None else selected))
        require_keys(self.settings)
        roles = [role for name, role in self._roles.items() if name in self._selected]
        async with contextlib.AsyncExitStack() as stack:
            http = HttpServer(self.http_app(self._selected), self._bind_http())
            await http.start()
            stack.push_async_callback(http.stop)
            server = self._build_server()
            await server.start()
            stack.push_async_callback(server.stop, 0)
            if self.settings.run_file is not None:
                self._write_run_file()
                stack.callback(self.settings.run_file.unlink, missing_ok=True)
            stack.push_async_callback(self._on_stop)
            failed = False
            if await self._open(stop):
                _log.info(
                    "runner.started", grpc=self.grpc_address, http=self.http_address, roles=sorted(self._selected)
                )
                failed = await self._work(roles, stop, server)
        _log.info("runner.stopped", failed=failed)
        return 1 if failed else 0

    def http_app(self, selected: Collection[str]) -> Starlette:
        """Return the HTTP application of a process with these roles."""
        backlogs: dict[str, BacklogSource] = {
            role.name: role.backlog
            for role in self._roles.values()
            if role.name in selected and role.backlog is not None
        }
        routes = self._routes if SERVE in selected else ()
        return build_app(self, backlogs, routes, hosts=allowed_hosts(self.settings))

    async def _open(self, stop: asyncio.Event) -> bool:
        """Open the dependencies; return False if the process is stopped meanwhile (a database can be slow)."""
        [opening] = await race(stop, self._start())
        if opening.cancelled():
            return False
        opening.result()
        self._started = True
        return True

    async def _start(self) -> None:
        # Without this loop, a process that starts before its migrate step, or during a restart of a server, would exit
        # again and again.
        for name, opening in self._opens.items():
            while (fault := await _fault_of(opening)) is not None:
                self._readiness.note(name, fault)
                await asyncio.sleep(_OPENING_POLL_S)
            self._readiness.note(name, None)
        await self._on_start()

    async def _work(self, roles: Sequence[Role], stop: asyncio.Event, server: grpc.aio.Server) -> bool:
        closing = asyncio.Event()
        tasks = [asyncio.create_task(run_role(role, closing), name=f"role {role.name}") for role in roles]
        watch = asyncio.create_task(self._readiness.watch(closing), name="readiness")
        stopping = asyncio.create_task(stop.wait(), name="stop")
        await asyncio.wait([stopping, watch, *tasks], return_when=asyncio.FIRST_COMPLETED)
        failed = not stop.is_set()
        stopping.cancel()
        started = time.monotonic()
        _log.info("runner.draining", requested=stop.is_set())
        self._health.drain()
        closing.set()
        if not failed:
            # Load balancers need a moment to see NOT_SERVING before calls are refused.
            await asyncio.sleep(self.settings.drain_notice_s)
        self._draining = True
        for servicer in self._servicers:
            if servicer.drain is not None:
                servicer.drain()
        await server.stop(self.settings.drain_grace_s)
        left_s = max(0.0, self.settings.drain_grace_s - (time.monotonic() - started))
        _, late = await asyncio.wait([watch, *tasks], timeout=left_s)
        for task in late:
            _log.warning("runner.task.canceled", task=task.get_name())
            task.cancel()
        ended = await asyncio.gather(watch, *tasks, return_exceptions=True)
        return failed or any(isinstance(outcome, RoleEndedError) for outcome in ended)

    def _bind_http(self) -> socket.socket:
        address = self.settings.http_listen
        try:
            listening = bind(address)
        except OSError as error:
            raise ListenError(f"HTTP cannot listen on {address}: {error.strerror}. Choose another port.") from error
        self.http_address = address_of(listening)
        return listening

    def _build_server(self) -> grpc.aio.Server:
        server = build_server(self.settings, self._policy, keys=self._keys, is_started=lambda: self._started)
        add_HealthServicer_to_server(self._health, server)
        names = [health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME]
        if SERVE in self._selected:
            for servicer in self._servicers:
                servicer.add(server)
                names.append(servicer.name)
        add_reflection(names, server)
        address = self.settings.grpc_listen
        try:
            port = server.add_insecure_port(address)
        except RuntimeError as error:
            raise ListenError(f"gRPC cannot listen on {address}: is the port in use? Choose another one.") from error
        self.grpc_address = address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"
        return server

    def _write_run_file(self) -> None:
        assert self.settings.run_file is not None
        write_run_file(
            self.settings.run_file,
            service=self.service,
            grpc=self.grpc_address,
            http=self.http_address,
            roles=self._selected,
        )
