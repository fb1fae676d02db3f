"""The receiver as a separate process: migrate, serve, drain, kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from classifeed.documents.v1 import index_queue_service_pb2 as queue_pb
from classifeed.documents.v1 import receiver_service_pb2 as pb
from classifeed.documents.v1.index_queue_service_pb2_grpc import IndexQueueServiceStub
from classifeed.documents.v1.receiver_service_pb2_grpc import ReceiverServiceStub
from classifeed.documents.v1.schema_service_pb2 import GetSchemaRequest, PutSchemaRequest
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub

from ..conftest import Build

pytestmark = pytest.mark.slow

DEADLINE_S = 180


class Process:
    """A receiver started from the command line."""

    def __init__(self, environment: dict[str, str], run_file: Path, *arguments: str) -> None:
        self._run_file = run_file
        command = [sys.executable, "-m", "classifeed_receiver", *arguments]
        self.child = subprocess.Popen(command, env={**os.environ, **environment})

    async def addresses(self) -> dict[str, Any]:
        async with asyncio.timeout(DEADLINE_S):
            while not self._run_file.exists():
                assert self.child.poll() is None
                await asyncio.sleep(0.02)
        addresses: dict[str, Any] = json.loads(self._run_file.read_text())
        return addresses

    async def wait(self) -> int:
        return await asyncio.to_thread(self.child.wait, DEADLINE_S)


@pytest.fixture
def environment(database_dsn: str, tmp_path: Path) -> dict[str, str]:
    return {"CLASSIFEED_RECEIVER_DSN": database_dsn, "CLASSIFEED_RECEIVER_RUN_FILE": str(tmp_path / "run.json")}


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(*arguments: str) -> Process:
        (tmp_path / "run.json").unlink(missing_ok=True)
        started.append(Process(environment, tmp_path / "run.json", *arguments))
        return started[-1]

    yield start
    for process in started:
        if process.child.poll() is None:
            process.child.kill()
        process.child.wait(DEADLINE_S)


def migrate(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "classifeed_receiver", "migrate"]
    subprocess.run(command, env={**os.environ, **environment}, check=True, timeout=DEADLINE_S)


async def wait_serving(channel: grpc.aio.Channel) -> None:
    stub = health_pb2_grpc.HealthStub(channel)
    async with asyncio.timeout(DEADLINE_S):
        while True:
            request = health_pb2.HealthCheckRequest(service="classifeed.documents.v1.ReceiverService")
            response = await stub.Check(request)  # type: ignore[attr-defined]
            if response.status == health_pb2.HealthCheckResponse.SERVING:
                return
            await asyncio.sleep(0.02)


async def test_serves_and_drains(environment: dict[str, str], start: Callable[..., Process], build: Build) -> None:
    migrate(environment)
    migrate(environment)  # idempotent
    process = start()
    addresses = await process.addresses()
    async with grpc.aio.insecure_channel(addresses["grpc"]) as channel:
        await wait_serving(channel)
        await SchemaServiceStub(channel).PutSchema(PutSchemaRequest(schema=build.schema()))
        receiver = ReceiverServiceStub(channel)
        await receiver.PushBatch(pb.PushBatchRequest(client="offers", documents=[build.upsert("a")]))
        with urllib.request.urlopen(f"http://{addresses['http']}/backlog", timeout=60) as response:
            assert json.load(response)["total"] == 0
        # A reader that waits for elements gets its response when the process stops.
        cursors = [queue_pb.QueueCursor(queue=queue_pb.INDEX_QUEUE_EMERGENCY, shard=1)]
        reading = IndexQueueServiceStub(channel).ReadElements(
            queue_pb.ReadElementsRequest(client="offers", cursors=cursors, max_wait_ms=2000)
        )
        await asyncio.sleep(0.2)
        process.child.send_signal(signal.SIGTERM)
        assert list((await reading).elements) == []
    assert await process.wait() == 0


async def test_tables_that_are_missing_keep_it_from_serving(
    environment: dict[str, str], start: Callable[..., Process]
) -> None:
    process = start("serve")
    addresses = await process.addresses()
    async with grpc.aio.insecure_channel(addresses["grpc"]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        response = await stub.Check(health_pb2.HealthCheckRequest())  # type: ignore[attr-defined]
        assert response.status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert process.child.poll() is None
        migrate(environment)
        await wait_serving(channel)
    process.child.send_signal(signal.SIGTERM)
    assert await process.wait() == 0


async def test_what_was_acknowledged_survives_a_kill(
    environment: dict[str, str], start: Callable[..., Process], build: Build, database_dsn: str
) -> None:
    migrate(environment)
    process = start()
    acknowledged: set[str] = set()
    async with grpc.aio.insecure_channel((await process.addresses())["grpc"]) as channel:
        await wait_serving(channel)
        schemas = SchemaServiceStub(channel)
        await schemas.PutSchema(PutSchemaRequest(schema=build.schema()))
        receiver = ReceiverServiceStub(channel)

        async def push(writer: int) -> None:
            for number in range(100_000):
                documents = [build.upsert(f"{writer}-{number}-{key}") for key in range(7)]
                response = await receiver.PushBatch(pb.PushBatchRequest(client="offers", documents=documents))
                assert {result.outcome for result in response.results} == {pb.PUSH_OUTCOME_ACK}
                acknowledged.update(document.pk for document in documents)

        writing = asyncio.gather(*[push(writer) for writer in range(4)])
        async with asyncio.timeout(DEADLINE_S):
            while len(acknowledged) < 1000:
                await asyncio.sleep(0.01)
        process.child.kill()
        with pytest.raises(grpc.aio.AioRpcError):
            await writing
    await process.wait()
    with psycopg.connect(database_dsn) as connection:
        connection.execute("SET search_path = receiver")
        stored = {pk for (pk,) in connection.execute("SELECT pk FROM documents")}
        queued = [pk for (pk,) in connection.execute("SELECT pk FROM elements")]
    assert acknowledged <= stored
    assert sorted(queued) == sorted(stored)
    again = start()
    async with grpc.aio.insecure_channel((await again.addresses())["grpc"]) as channel:
        await wait_serving(channel)
        schema = await SchemaServiceStub(channel).GetSchema(GetSchemaRequest(client="offers"))
        assert schema.epoch == 1
