"""Health as probes and load balancers see it, and the drain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
import pytest
import pytest_asyncio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub, add_HealthServicer_to_server

from classifeed_common.rpc.health import Health

SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING
SERVICE = "classifeed.offers.v1.OfferService"


@pytest.fixture
def health() -> Health:
    return Health([SERVICE])


@pytest_asyncio.fixture
async def server(health: Health, socket_dir: Any) -> AsyncIterator[tuple[grpc.aio.Server, str]]:
    server = grpc.aio.server()
    add_HealthServicer_to_server(health, server)
    target = f"unix:{socket_dir}/health"
    server.add_insecure_port(target)
    await server.start()
    yield server, target
    await server.stop(0)


async def ask(target: str, service: str = "") -> int:
    async with grpc.aio.insecure_channel(target) as channel:
        response = await HealthStub(channel).Check(HealthCheckRequest(service=service))  # type: ignore[attr-defined]
        return int(response.status)


async def test_nothing_is_serving_until_it_is_said(health: Health, server: tuple[grpc.aio.Server, str]) -> None:
    assert [await ask(server[1]), await ask(server[1], SERVICE)] == [NOT_SERVING] * 2
    health.set_serving(True)
    assert [await ask(server[1]), await ask(server[1], SERVICE)] == [SERVING] * 2


async def test_an_unknown_service_is_not_found(server: tuple[grpc.aio.Server, str]) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await ask(server[1], "classifeed.unknown.v1.Service")
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_drain_is_for_good(health: Health, server: tuple[grpc.aio.Server, str]) -> None:
    health.set_serving(True)
    health.drain()
    health.set_serving(True)
    assert await ask(server[1]) == NOT_SERVING


async def test_a_watch_sees_each_change_and_does_not_hold_up_the_stop(
    health: Health, server: tuple[grpc.aio.Server, str]
) -> None:
    seen: list[int] = []
    async with grpc.aio.insecure_channel(server[1]) as channel, asyncio.timeout(60):
        watch = HealthStub(channel).Watch(HealthCheckRequest(service=SERVICE))  # type: ignore[attr-defined]
        seen.append((await watch.read()).status)
        health.set_serving(True)
        seen.append((await watch.read()).status)
        health.drain()
        seen.append((await watch.read()).status)
        # The grace time is longer than this test's timeout: a watch that stays open would use it up.
        await server[0].stop(600)
        assert await watch.read() is grpc.aio.EOF
    assert seen == [NOT_SERVING, SERVING, NOT_SERVING]
