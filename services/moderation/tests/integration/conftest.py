"""The service as started in production, with clients for its ports."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import httpx
import pytest
from starlette.applications import Starlette

from classifeed.moderation.v1.moderation_service_pb2_grpc import ModerationServiceStub
from classifeed.points.v1.point_pb2 import Author, Location
from classifeed.points.v1.point_service_pb2 import CreatePointRequest, GetPointRequest
from classifeed.points.v1.point_service_pb2_grpc import PointServiceStub
from classifeed_common.auth import KeyStore
from classifeed_common.rpc.client import open_channel
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.topics import begin_at_ends
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_moderation import parts
from classifeed_moderation.bootstrap import build, prepare
from classifeed_moderation.clients import configured
from classifeed_moderation.consumers.requests import GROUP
from classifeed_moderation.parts.judging import build_judging
from classifeed_moderation.settings import ModerationSettings

from ..conftest import StandIn

PATH = "/v2/apply_moderation_verdicts"
TOKEN = "X-Ya-Service-Ticket"


@dataclass
class Service:
    """A running moderation."""

    http: httpx.AsyncClient
    points: PointServiceStub
    moderation: ModerationServiceStub
    keys: KeyStore
    rows: Callable[..., Awaitable[list[tuple[Any, ...]]]]
    stand_in: StandIn
    kafka: str
    grpc_address: str
    http_app: Starlette

    async def call_back(self, *verdicts: dict[str, Any], token: str | None = "", **options: Any) -> httpx.Response:
        """Send a callback; an empty token means the right one, None means no token."""
        headers = {"Content-Type": "application/json", **options.pop("headers", {})}
        if token is not None:
            headers[TOKEN] = token or self.keys.issue("cleanweb", "moderation")
        content = options.pop("content", json.dumps({"verdicts": verdicts}))
        return await self.http.post(PATH, content=content, headers=headers)

    async def create(self, description: str = "text", *, regions: tuple[int, ...] = (1,)) -> str:
        point = await self.points.CreatePoint(
            CreatePointRequest(
                point_id=str(uuid4()),
                author=Author(author_id="a"),
                tags=["other"],
                description=description,
                location=Location(latitude=1, longitude=2),
                region_ids=regions,
            )
        )
        return str(point.name)

    async def create_waiting(self) -> str:
        """Create a point with a unique text that people have; return its key."""
        key = (await self.create(f"text {uuid4()}")).removeprefix("points/")
        await until(lambda: any(request.params["key"] == key for request in self.stand_in.requests))
        return key

    async def is_served(self, name: str) -> bool:
        try:
            return bool(await self.points.GetPoint(GetPointRequest(name=name)))
        except grpc.aio.AioRpcError as error:
            assert error.code() is grpc.StatusCode.NOT_FOUND
            return False


@pytest.fixture
def environment() -> str:
    return "testing"


@pytest.fixture
def options() -> dict[str, Any]:
    """Return additional settings; tests override this fixture."""
    return {}


@pytest.fixture
def rules_file() -> Path | None:
    return None


@pytest.fixture
async def service(
    migrated_database: MigratedDatabase,
    kafka: EmbeddedKafka,
    keys: KeyStore,
    stand_in: StandIn,
    environment: str,
    rules_file: Path | None,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Service]:
    database = await migrated_database("classifeed_moderation")
    monkeypatch.setattr(parts, "build_judging", partial(build_judging, check_interval_s=0.2))
    monkeypatch.setattr(configured, "CONNECT_S", 60)  # no request fails on a busy machine
    settings = ModerationSettings(
        dsn=database.dsn,
        kafka_bootstrap=kafka.bootstrap,
        keys_dir=keys.directory,
        verdict_url=stand_in.url,
        verdict_environment=environment,
        rules_file=rules_file,
        drain_notice_s=0,
        **({"answer_s": 60} | options),
    )
    await prepare(settings)
    await begin_at_ends(database, kafka.bootstrap, GROUP, MODERATION_REQUESTS)
    runner = build(settings)
    stop = asyncio.Event()
    running = asyncio.create_task(runner.run(stop))
    await until(lambda: running.done() or runner.is_ready)
    channel = open_channel(runner.grpc_address, caller="operator", audience="moderation", keys=keys)

    async def rows(query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with database.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()

    async with loopback_client(f"http://{runner.http_address}") as http:
        points, moderation = PointServiceStub(channel), ModerationServiceStub(channel)
        app = runner.http_app(runner.role_names)
        yield Service(http, points, moderation, keys, rows, stand_in, kafka.bootstrap, runner.grpc_address, app)
    await channel.close()
    stop.set()
    await running
