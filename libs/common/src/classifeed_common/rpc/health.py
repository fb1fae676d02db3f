"""Standard gRPC health, per service and overall.

It replaces grpcio's implementation for three reasons. That one starts as SERVING. It writes to watchers while it holds
the lock that a change needs, so that one stuck watcher stops the drain. Its watches never end, so that a server waits
out its whole grace time for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

import grpc
import grpc.aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthServicer

from classifeed_common.rpc.context import Context

OVERALL = ""


class Health(HealthServicer):
    """NOT_SERVING until `set_serving(True)`, and permanently after `drain`, which ends all watches."""

    def __init__(self, services: Iterable[str]) -> None:
        self._services = frozenset((OVERALL, *services))
        self._serving = False
        self._draining = False
        self._changed = asyncio.Event()

    @property
    def is_serving(self) -> bool:
        """Whether probes get SERVING now."""
        return self._serving

    def set_serving(self, serving: bool) -> None:
        """Change the status for probes; without effect while draining."""
        if serving != self._serving and not (serving and self._draining):
            self._serving = serving
            self._changed.set()
            self._changed = asyncio.Event()

    def drain(self) -> None:
        """Report NOT_SERVING from now on, and end all watches."""
        self._draining = True
        self.set_serving(False)
        self._changed.set()

    async def Check(self, request: HealthCheckRequest, context: Context) -> HealthCheckResponse:
        """Respond at once; NOT_FOUND for a service that is not served here."""
        if request.service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"{request.service} is not served here")
        return self._response()

    async def Watch(self, request: HealthCheckRequest, context: Context) -> AsyncIterator[HealthCheckResponse]:
        """Respond at once and at each change."""
        if request.service not in self._services:
            yield HealthCheckResponse(status=HealthCheckResponse.SERVICE_UNKNOWN)
            await asyncio.Event().wait()
        while True:
            changed, draining = self._changed, self._draining
            yield self._response()
            if draining:
                return
            await changed.wait()

    def _response(self) -> HealthCheckResponse:
        return HealthCheckResponse(
            status=HealthCheckResponse.SERVING if self._serving else HealthCheckResponse.NOT_SERVING
        )
