"""A whole service inside this process."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import httpx
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from prometheus_client import REGISTRY
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from classifeed.offers.v1 import offer_pb2, offer_service_pb2
from classifeed.offers.v1.offer_service_pb2_grpc import (
    OfferServiceServicer,
    OfferServiceStub,
    add_OfferServiceServicer_to_server,
)
from classifeed_common.auth import KeyStore
from classifeed_common.errors import NotFound
from classifeed_common.http.app import require_open
from classifeed_common.runner import Role, Servicer, ServiceRunner
from classifeed_common.runner.command import select_roles
from classifeed_common.runner.listening import ListenError, is_loopback
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.rpc import OpenChannel, settings_for
from classifeed_domain.policy import POLICY

REQUEST = offer_service_pb2.GetOfferRequest(name="sellers/s/feeds/default/offers/1")


class Offers(OfferServiceServicer):
    """Responds once the test allows it."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.may_respond = asyncio.Event()
        self.may_respond.set()

    async def GetOffer(self, request: Any, context: Any) -> offer_pb2.Offer:
        self.requested.set()
        await self.may_respond.wait()
        return offer_pb2.Offer(name=request.name)


async def idle(stop: asyncio.Event) -> None:
    await stop.wait()


def build(offers: Offers | None = None, *, changes: dict[str, Any] | None = None, **parts: Any) -> ServiceRunner:
    settings = settings_for("offers").model_copy(update={"drain_notice_s": 0.0, **(changes or {})})
    servicers = [Servicer.of(add_OfferServiceServicer_to_server, offers or Offers())]
    return ServiceRunner(settings, "offers", "1.2.3", servicers=servicers, policy=POLICY, **parts)


@asynccontextmanager
async def running(runner: ServiceRunner, roles: set[str] | None = None) -> AsyncIterator[tuple[asyncio.Event, Any]]:
    stop = asyncio.Event()
    task = asyncio.create_task(runner.run(stop, roles))
    try:
        await until(lambda: bool(runner.http_address) and (task.done() or runner.is_ready))
        yield stop, task
    finally:
        stop.set()
        async with asyncio.timeout(120):
            await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.005)


async def get(runner: ServiceRunner, path: str) -> httpx.Response:
    async with loopback_client() as client:
        return await client.get(f"http://{runner.http_address}{path}")


async def health_of(runner: ServiceRunner, service: str = "") -> int:
    async with grpc.aio.insecure_channel(runner.grpc_address) as channel:
        response = await HealthStub(channel).Check(HealthCheckRequest(service=service))  # type: ignore[attr-defined]
        return int(response.status)


async def test_a_role_of_all_processes_runs_whatever_a_process_was_started_for() -> None:
    runs: list[str] = []

    def noting(name: str) -> Callable[[asyncio.Event], Awaitable[None]]:
        async def run(stop: asyncio.Event) -> None:
            runs.append(name)
            await stop.wait()

        return run

    def blocked() -> dict[str, str]:
        return {"file": "is wrong"}

    watch = Role("watch-rules", noting("watch-rules"), blocked=blocked, is_everywhere=True)
    runner = build(roles=[Role("relay", noting("relay")), Role("sweep", noting("sweep")), watch])
    assert runner.role_names == ["serve", "relay", "sweep"], "nobody can choose it, nor leave it out"
    async with running(runner, {"relay"}):
        await until(lambda: len(runs) == 2)
        assert (await get(runner, "/health")).json()["blocked"] == {"watch-rules": {"file": "is wrong"}}
    assert sorted(runs) == ["relay", "watch-rules"]


async def test_a_running_service_answers_everywhere(tmp_path: Path) -> None:
    async def waiting() -> dict[str, int]:
        return {"outbox": 3}

    run_file = tmp_path / "run" / "offers.json"
    roles = [Role("relay", idle, waiting), Role("sweep", idle)]
    own = Route("/hello", lambda _: PlainTextResponse("hi"))
    runner = build(roles=roles, routes=[own], changes={"run_file": run_file})
    async with running(runner) as (stop, task):
        shown = json.loads(run_file.read_text())
        assert (shown["grpc"], shown["http"], shown["pid"]) == (runner.grpc_address, runner.http_address, os.getpid())
        assert await health_of(runner) == HealthCheckResponse.SERVING
        assert await health_of(runner, "classifeed.offers.v1.OfferService") == HealthCheckResponse.SERVING
        assert (await get(runner, "/health/live")).status_code == 200
        ready = await get(runner, "/health/ready")
        assert (ready.status_code, ready.json()["version"]) == (200, "1.2.3")
        assert ready.json()["roles"] == ["relay", "serve", "sweep"]
        assert (await get(runner, "/backlog")).json() == {"items": {"relay.outbox": 3}, "total": 3}
        assert 'classifeed_backlog_items{item="relay.outbox"} 3.0' in (await get(runner, "/metrics")).text
        assert (await get(runner, "/hello")).text == "hi"
        stop.set()
        assert await task == 0
    assert not run_file.exists()


async def test_own_routes_win_and_are_refused_while_starting_and_draining() -> None:
    async def own(request: Request) -> PlainTextResponse:
        require_open(request)
        return PlainTextResponse("own")

    may_open, may_end = asyncio.Event(), asyncio.Event()

    async def slow(stop: asyncio.Event) -> None:
        await may_end.wait()

    routes = [Route("/health", own)]
    runner = build(roles=[Role("slow", slow)], routes=routes, on_start=may_open.wait)
    stop = asyncio.Event()
    task = asyncio.create_task(runner.run(stop))
    await until(lambda: bool(runner.http_address))
    starting = await get(runner, "/health")
    assert (starting.status_code, starting.json()["reason"]) == (503, "STARTING")
    assert starting.headers["retry-after"] == "1"
    may_open.set()
    await until(lambda: runner.is_ready)
    assert (await get(runner, "/health")).text == "own"
    unknown = await get(runner, "/nowhere")
    assert (unknown.status_code, unknown.json()["reason"]) == (404, "NOT_FOUND")
    stop.set()
    await until(lambda: runner.refusal is not None)
    draining = await get(runner, "/health")
    assert (draining.status_code, draining.json()["reason"]) == (503, "DRAINING")
    assert (await get(runner, "/health/live")).status_code == 200
    may_end.set()
    assert await task == 0
    alone = build(roles=[Role("relay", idle)], routes=routes)
    async with running(alone, {"relay"}):
        assert (await get(alone, "/health")).json()["roles"] == ["relay"], "without serve the own routes are left out"


async def test_answers_on_a_kept_connection_do_not_wait_for_acknowledgements() -> None:
    runner = build()
    took_s = [1.0]
    async with running(runner), loopback_client() as client:
        for _ in range(200):  # one request without other load on the machine is enough
            started = time.perf_counter()
            await client.get(f"http://{runner.http_address}/health/live")
            took_s.append(time.perf_counter() - started)
            if took_s[-1] < 0.03:
                break
    assert min(took_s) < 0.03, "a delayed acknowledgement costs 40 ms, each time"


async def test_it_is_not_serving_while_a_dependency_is_missing() -> None:
    missing = True

    async def check() -> None:
        if missing:
            raise ConnectionError("no route")

    runner = build(readiness={"kafka": check})
    stop = asyncio.Event()
    task = asyncio.create_task(runner.run(stop))
    await until(lambda: runner.describe()["missing"] == {"kafka": "ConnectionError: no route"})
    assert await health_of(runner) == HealthCheckResponse.NOT_SERVING
    response = await get(runner, "/health")
    assert (response.status_code, response.json()["missing"]) == (503, {"kafka": "ConnectionError: no route"})
    [first_missed] = response.json()["since"].values()
    later = datetime.fromisoformat(first_missed) + timedelta(seconds=2)
    await until(lambda: datetime.now(UTC) > later)
    assert (await get(runner, "/health")).json()["since"] == {"kafka": first_missed}, "the same however often asked"
    assert (await get(runner, "/health/live")).status_code == 200
    missing = False
    await until(lambda: runner.is_ready)
    assert await health_of(runner) == HealthCheckResponse.SERVING
    assert (await get(runner, "/health")).json()["since"] == {}
    stop.set()
    assert await task == 0


async def test_what_a_role_cannot_go_on_with_is_named_while_it_serves() -> None:
    found = {"feeds.offer-requests.v1[3]": "the record at offset 7 fails"}
    roles = [Role("requests", idle, blocked=lambda: found), Role("relay", idle, blocked=dict), Role("sweep", idle)]
    runner = build(roles=roles)
    async with running(runner):
        response = await get(runner, "/health/ready")
        assert (response.status_code, response.json()["status"]) == (200, "degraded")
        assert response.json()["blocked"] == {"requests": found}
        assert list(response.json()["since"]) == ["requests: feeds.offer-requests.v1[3]"]
        assert await health_of(runner) == HealthCheckResponse.SERVING
        assert 'classifeed_role_blocked_items{role="requests"} 1.0' in (await get(runner, "/metrics")).text
        found = {}
        assert (await get(runner, "/health/ready")).json()["status"] == "ready"
        assert "classifeed_role_blocked_items{" not in (await get(runner, "/metrics")).text, (
            "a gauge of what is over goes away"
        )


async def test_a_damaged_list_of_tokens_is_named_while_it_serves(keys: KeyStore) -> None:
    runner = build(keys=keys)
    async with running(runner):
        assert (await get(runner, "/health/ready")).json()["status"] == "ready"
        (keys.directory / "tokens.json").write_text("{")
        response = await get(runner, "/health/ready")
        assert (response.status_code, response.json()["status"]) == (200, "degraded")
        assert "tokens.json is damaged" in response.json()["blocked"]["serve"]["team tokens"]


async def test_a_drain_says_not_serving_while_calls_are_still_taken(rpc_channel: OpenChannel) -> None:
    runner = build(changes={"drain_notice_s": 60.0})
    async with running(runner) as (stop, task):
        stub = OfferServiceStub(rpc_channel(runner.grpc_address, caller="operator", audience="offers"))
        stop.set()
        await until(lambda: not runner.is_ready)
        assert await health_of(runner) == HealthCheckResponse.NOT_SERVING
        assert (await get(runner, "/health/ready")).status_code == 503
        assert (await stub.GetOffer(REQUEST)).name == REQUEST.name
        task.cancel()


async def test_a_drain_lets_calls_and_roles_end_then_closes(rpc_channel: OpenChannel) -> None:
    offers = Offers()
    offers.may_respond.clear()
    order: list[str] = []

    async def work(stop: asyncio.Event) -> None:
        await stop.wait()
        await asyncio.sleep(0)
        order.append("role ended")

    async def close() -> None:
        order.append("closed")

    runner = build(offers, roles=[Role("work", work)], on_stop=close)
    async with running(runner) as (stop, task):
        stub = OfferServiceStub(rpc_channel(runner.grpc_address, caller="operator", audience="offers"))
        call = asyncio.ensure_future(stub.GetOffer(REQUEST))
        await offers.requested.wait()
        stop.set()
        await until(lambda: not accepts_connections(runner.grpc_address))
        offers.may_respond.set()
        assert (await call).name == REQUEST.name
        assert await task == 0
    assert order == ["role ended", "closed"]


def accepts_connections(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except ConnectionRefusedError:
        return False
    return True


async def test_a_role_that_does_not_end_is_cancelled_after_the_grace() -> None:
    cancelled = asyncio.Event()

    async def stubborn(_: asyncio.Event) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    runner = build(roles=[Role("stubborn", stubborn)], changes={"drain_grace_s": 0.1})
    async with running(runner) as (stop, task):
        stop.set()
        assert await task == 0
    assert cancelled.is_set()


def failures_counted(role: str) -> float:
    return REGISTRY.get_sample_value("classifeed_role_failures_total", {"role": role}) or 0.0


@pytest.mark.parametrize("fault", [RuntimeError("connection lost"), SystemExit(3), None], ids=repr)
async def test_a_role_that_ends_by_itself_ends_the_process_with_1(fault: BaseException | None) -> None:
    go = asyncio.Event()

    async def faulty(_: asyncio.Event) -> None:
        await go.wait()
        if fault is not None:
            raise fault

    other_ended = asyncio.Event()

    async def other(stop: asyncio.Event) -> None:
        await stop.wait()
        other_ended.set()

    before = failures_counted("faulty")
    runner = build(roles=[Role("faulty", faulty), Role("other", other)])
    async with running(runner) as (_, task), asyncio.timeout(60):
        go.set()
        assert await task == 1
    assert failures_counted("faulty") == before + 1
    assert other_ended.is_set()


async def test_what_cannot_be_opened_ends_the_process_and_is_closed() -> None:
    closed = asyncio.Event()

    async def fail() -> None:
        raise ConnectionError("no database")

    async def close() -> None:
        closed.set()

    runner = build(on_start=fail, on_stop=close)
    with pytest.raises(ConnectionError):
        await runner.run(asyncio.Event())
    assert closed.is_set()


async def test_it_can_be_stopped_while_it_is_still_opening() -> None:
    opening = asyncio.Event()

    async def slow() -> None:
        opening.set()
        await asyncio.Event().wait()

    stop = asyncio.Event()
    task = asyncio.create_task(build(on_start=slow).run(stop))
    async with asyncio.timeout(60):
        await opening.wait()
        stop.set()
        assert await task == 0


async def test_an_uncountable_backlog_is_a_problem_that_names_its_role(caplog: pytest.LogCaptureFixture) -> None:
    async def lost() -> dict[str, int]:
        raise ConnectionError("no database")

    async def fail(_: object) -> Any:
        raise ConnectionError("no route")

    roles = [Role("relay", idle, lost), Role("sweep", idle, lambda: asyncio.sleep(0, {"jobs": 1}))]
    runner = build(roles=roles, routes=[Route("/fail", fail)])
    async with running(runner):
        response = await get(runner, "/backlog")
        assert (response.status_code, response.headers["content-type"]) == (503, "application/problem+json")
        assert response.json()["reason"] == "BACKLOG_UNKNOWN"
        assert response.json()["metadata"] == {"relay": "ConnectionError: no database"}
        assert (await get(runner, "/metrics")).status_code == 200
        assert not [record for record in caplog.records if record.exc_info], "no traceback for what is just away"
        response = await get(runner, "/fail")
        assert (response.status_code, response.json()["reason"]) == (500, "INTERNAL")
    assert "Exception in ASGI application" not in caplog.text, "told once, under its incident"


async def test_errors_of_routes_are_problem_documents() -> None:
    async def fail(_: object) -> Any:
        raise NotFound("PAGE_NOT_FOUND", "There is no such page.")

    runner = build(routes=[Route("/fail", fail)])
    async with running(runner):
        response = await get(runner, "/fail")
    assert (response.status_code, response.json()["reason"]) == (404, "PAGE_NOT_FOUND")


async def test_work_alone_answers_health_and_nothing_else(rpc_channel: OpenChannel) -> None:
    runner = build(roles=[Role("relay", idle), Role("sweep", idle)])
    async with running(runner, {"relay"}):
        assert await health_of(runner) == HealthCheckResponse.SERVING
        assert (await get(runner, "/health")).json()["roles"] == ["relay"]
        stub = OfferServiceStub(rpc_channel(runner.grpc_address, caller="operator", audience="offers"))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.GetOffer(REQUEST)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("field", ["grpc_listen", "http_listen"])
async def test_it_refuses_to_be_open_to_anybody(field: str) -> None:
    with pytest.raises(ListenError, match="CLASSIFEED_OFFERS_KEYS_DIR"):
        await build(changes={field: "0.0.0.0:0"}).run(asyncio.Event())


async def test_with_keys_it_asks_for_tokens(keys: KeyStore, rpc_channel: OpenChannel) -> None:
    runner = build(changes={"keys_dir": keys.directory})
    async with running(runner):
        assert await health_of(runner) == HealthCheckResponse.SERVING
        signed = OfferServiceStub(rpc_channel(runner.grpc_address, caller="operator", audience="offers"))
        assert (await signed.GetOffer(REQUEST)).name == REQUEST.name
        bare = OfferServiceStub(rpc_channel(runner.grpc_address, caller="operator", audience="offers", signed=False))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await bare.GetOffer(REQUEST)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("field", ["grpc_listen", "http_listen"])
async def test_a_port_in_use_is_said_in_one_line(field: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ListenError, match=address):
            async with asyncio.timeout(60):
                await build(changes={field: address}).run(asyncio.Event())


async def test_two_processes_never_share_a_port() -> None:
    """gRPC's default would allow it, and each process would get half of the calls."""
    first = build()
    async with running(first), asyncio.timeout(120):
        with pytest.raises(ListenError, match=first.grpc_address):
            await build(changes={"grpc_listen": first.grpc_address}).run(asyncio.Event())


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1:80", True),
        ("127.9.9.9:80", True),
        ("[::1]:80", True),
        ("localhost:80", True),
        ("unix:/run/x", True),
        ("0.0.0.0:80", False),
        ("[::]:80", False),
        ("10.0.0.1:80", False),
        ("localhost.evil.example:80", False),
    ],
)
def test_loopback_is_told_from_the_rest(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


def test_verbs_and_roles_select_together() -> None:
    known = ["serve", "relay", "sweep"]
    assert select_roles(known, verb=None, requested=[]) == {"serve", "relay", "sweep"}
    assert select_roles(known, verb="serve", requested=[]) == {"serve"}
    assert select_roles(known, verb="work", requested=[]) == {"relay", "sweep"}
    assert select_roles(known, verb="work", requested=["relay"]) == {"relay"}
    assert select_roles(known, verb=None, requested=["serve", "sweep"]) == {"serve", "sweep"}
    with pytest.raises(ListenError, match="there is no role other; roles are: serve, relay, sweep"):
        select_roles(known, verb=None, requested=["other"])


def test_roles_need_names_of_their_own() -> None:
    with pytest.raises(ValueError, match="different names"):
        build(roles=[Role("serve", idle)])
