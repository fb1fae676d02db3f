from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
import httpx
import pytest

from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceStub
from classifeed_common.auth import KeyStore
from classifeed_common.runner import Role, ServiceRunner
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.rpc import settings_for
from classifeed_domain.policy import POLICY
from classifeed_jobs import Fail, Reaper, Worker
from classifeed_jobs.admin.admin import MAX_OPEN_PER_CALLER, JobAdmin
from classifeed_jobs.api.http import job_routes
from classifeed_jobs.api.http.responses import Info
from classifeed_jobs.api.rpc import job_servicer

from ..conftest import Bench

ENDED = {"succeeded", "failed", "canceled"}


@dataclass
class Outage:
    """An outage of a dependency of the task `t`."""

    is_over: bool = False


@pytest.fixture
def outage(bench: Bench) -> Outage:
    outage = Outage()

    @bench.registry.register("t")
    async def work(ctx: Any, args: dict[str, Any]) -> Any:
        if not outage.is_over:
            raise Fail("away")
        return {"rows": [1, 2.5, None]}

    return outage


@dataclass
class ApiServices:
    """A service with jobs in this process, and helpers for HTTP requests to it."""

    bench: Bench
    http: httpx.AsyncClient
    grpc_address: str
    runner: ServiceRunner
    stop: asyncio.Event
    task: asyncio.Task[int]
    request: dict[str, Any] = field(default_factory=lambda: {"queue": "q", "task": "noop", "lock_key": "k"})

    async def trigger(self, **values: Any) -> dict[str, Any]:
        response = await self.http.post("/api/v1/jobs/trigger", json=self.request | values)
        assert response.status_code == 200, response.text
        message: dict[str, Any] = response.json()
        return message

    async def status(self, job_id: str) -> dict[str, Any]:
        response = await self.http.get(f"/api/v1/jobs/{job_id}/status")
        assert response.status_code == 200, response.text
        message: dict[str, Any] = response.json()
        return message

    async def cancel(self, job_id: str) -> dict[str, Any]:
        response = await self.http.post(f"/api/v1/jobs/{job_id}/cancel")
        assert response.status_code == 200, response.text
        message: dict[str, Any] = response.json()
        return message

    async def ended(self, job_id: str, *, within_s: float = 90.0) -> dict[str, Any]:
        return await self.until(job_id, lambda message: message["status"] in ENDED, within_s=within_s)

    async def until(
        self, job_id: str, condition: Callable[[dict[str, Any]], bool], *, within_s: float = 90.0
    ) -> dict[str, Any]:
        deadline = time.monotonic() + within_s
        while not condition(message := await self.status(job_id)):
            assert time.monotonic() < deadline, message
            await asyncio.sleep(0.02)
        return message

    async def kinds(self, job_id: str) -> list[str]:
        return [event["kind"] for event in (await self.http.get(f"/api/v1/jobs/{job_id}/events")).json()["events"]]


Host = Callable[..., Any]


@pytest.fixture
def host(bench: Bench) -> Host:
    """Serve the jobs of the bench: `async with host(work={"q": 4}) as services`; without `work`, no worker runs."""

    @asynccontextmanager
    async def hosting(
        *,
        work: dict[str, int] | None = None,
        keys: KeyStore | None = None,
        is_guarded: bool = False,
        max_open_per_caller: int = MAX_OPEN_PER_CALLER,
        **options: Any,
    ) -> AsyncIterator[ApiServices]:
        settings = settings_for("loader").model_copy(update={"drain_notice_s": 0.0, "drain_grace_s": 30})
        roles = []
        if work:
            worker = Worker(bench.db, bench.store, bench.registry, queues=work, **({"heartbeat_s": 0.2} | options))
            roles = [Role("work", worker.run), Role("reap", Reaper(bench.db, reaper_period_s=0.3).run)]
        admin = JobAdmin(bench.db, bench.store, max_open_per_caller=max_open_per_caller)
        routes = job_routes(
            admin,
            info=Info(service="loader", version="1.2.3", environment="test"),
            policy=POLICY,
            keys=keys if is_guarded else None,
        )
        runner = ServiceRunner(
            settings,
            "loader",
            "1.2.3",
            roles=roles,
            servicers=[job_servicer(admin)],
            routes=routes,
            policy=POLICY,
            keys=keys,
        )
        stop = asyncio.Event()
        task = asyncio.create_task(runner.run(stop))
        try:
            async with asyncio.timeout(90):
                while not runner.is_ready:
                    assert not task.done(), task.result()
                    await asyncio.sleep(0.01)
            base_url = f"http://{runner.http_address}"
            json_type = {"content-type": "application/json"}  # for bodies given as bytes
            async with loopback_client(base_url, headers=json_type) as client:
                yield ApiServices(bench, client, runner.grpc_address, runner, stop, task)
        finally:
            stop.set()
            assert await task == 0

    return hosting


@pytest.fixture
async def services(host: Host) -> AsyncIterator[ApiServices]:
    """Provide a service without a worker."""
    async with host() as made:
        yield made


@pytest.fixture
async def stub(services: ApiServices) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(services.grpc_address) as channel:
        yield JobServiceStub(channel)
