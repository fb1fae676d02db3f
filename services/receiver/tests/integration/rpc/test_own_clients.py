"""A caller writes only to its own clients, with real tokens and a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest

from classifeed.documents.v1 import receiver_service_pb2 as pb
from classifeed.documents.v1 import schema_service_pb2 as schema_pb
from classifeed.documents.v1.receiver_service_pb2_grpc import ReceiverServiceStub
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub
from classifeed_common.auth import KeyStore, Policy, write_keys
from classifeed_common.auth.policy import OPERATOR, SERVICE
from classifeed_common.rpc.server import build_server
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.rpc import OpenChannel, StartServer, settings_for
from classifeed_domain.document_clients import WRITES
from classifeed_domain.policy import CALLERS

from ...conftest import Build, Receiver

WRITERS = {"offers": "offers", "moderation": "points"}
# A policy that admits every writer to both services, so that only the table of clients separates them.
_BOTH = ("ReceiverService", "SchemaService")
POLICY = Policy(
    {
        method: callers | {"moderation", "api", OPERATOR} if method.split("/")[1].endswith(_BOTH) else callers
        for method, callers in CALLERS.items()
    }
)
Call = Callable[[str], Awaitable[Any]]


class Caller:
    """Calls of one caller to the receiver, by method; each call gets a client."""

    def __init__(self, channel: grpc.aio.Channel, build: Build) -> None:
        self.documents, self.schemas, self.build = ReceiverServiceStub(channel), SchemaServiceStub(channel), build

    @property
    def writes(self) -> dict[str, Call]:
        return {
            "Push": lambda client: self.documents.Push(pb.PushRequest(client=client, document=self.build.upsert("a"))),
            "PushBatch": lambda client: self.documents.PushBatch(self.batch(client)),
            "PushStream": self.stream,
            "CheckPositions": lambda client: self.documents.CheckPositions(pb.CheckPositionsRequest(client=client)),
            "ListDocuments": lambda client: self.documents.ListDocuments(pb.ListDocumentsRequest(client=client)),
            "PutSchema": lambda client: self.schemas.PutSchema(schema_pb.PutSchemaRequest(schema=self.schema(client))),
        }

    @property
    def reads(self) -> dict[str, Call]:
        return {
            "GetSchema": lambda client: self.schemas.GetSchema(schema_pb.GetSchemaRequest(client=client)),
            "ListEpochs": lambda client: self.schemas.ListEpochs(schema_pb.ListEpochsRequest(client=client)),
        }

    def batch(self, client: str) -> pb.PushBatchRequest:
        return pb.PushBatchRequest(client=client, documents=[self.build.upsert("b")])

    async def stream(self, client: str) -> list[pb.PushBatchResponse]:
        async def requests() -> AsyncIterator[pb.PushBatchRequest]:
            yield self.batch(client)

        return [response async for response in self.documents.PushStream(requests())]

    def schema(self, client: str) -> Any:
        schema = self.build.schema()
        schema.client = client
        return schema


@pytest.fixture
async def call_as(
    receiver: Receiver, rpc_server: StartServer, rpc_channel: OpenChannel, keys: KeyStore, build: Build
) -> Callable[[str], Caller]:
    write_keys(keys.directory, ["moderation"])
    target = await rpc_server("receiver", *receiver.servicers(), policy=POLICY)
    points = build.schema()
    points.client = "points"
    await receiver.put(points)
    return lambda caller: Caller(rpc_channel(target, caller=caller, audience="receiver"), build)


async def refusal(call: Awaitable[Any]) -> tuple[str, dict[str, str]]:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    assert raised.value.code() == grpc.StatusCode.PERMISSION_DENIED
    error = from_rpc_error(raised.value)
    return error.reason, error.metadata


async def counts(receiver: Receiver) -> dict[str, int]:
    rows = await receiver.fetch("SELECT client, count(*) FROM documents GROUP BY client")
    return {client: int(count) for client, count in rows}


@pytest.mark.parametrize("caller", WRITERS)
async def test_a_writer_is_refused_the_clients_of_others_by_every_method(
    receiver: Receiver, call_as: Callable[[str], Caller], caller: str
) -> None:
    [other] = set(WRITERS.values()) - {WRITERS[caller]}
    requested = call_as(caller)
    for name, call in (requested.writes | requested.reads).items():
        for client in (other, "third"):
            found = await refusal(call(client))
            assert found == ("CLIENT_OF_ANOTHER", {"caller": caller, "client": client}), name
    assert await counts(receiver) == {}
    assert await receiver.fetch("SELECT client FROM schemas ORDER BY 1") == [("offers",), ("points",)]


@pytest.mark.parametrize("caller", WRITERS)
async def test_a_writer_writes_and_reads_its_own(
    receiver: Receiver, call_as: Callable[[str], Caller], caller: str
) -> None:
    requested = call_as(caller)
    for call in (requested.writes | requested.reads).values():
        await call(WRITERS[caller])
    assert await counts(receiver) == {WRITERS[caller]: 2}


async def test_a_stream_ends_at_the_first_request_for_another_client(
    receiver: Receiver, call_as: Callable[[str], Caller]
) -> None:
    requested = call_as("moderation")

    async def requests() -> AsyncIterator[pb.PushBatchRequest]:
        for client in ("points", "offers", "points"):
            yield requested.batch(client)

    responses = aiter(requested.documents.PushStream(requests()))
    assert (await anext(responses)).results[0].outcome == pb.PUSH_OUTCOME_ACK
    assert (await refusal(anext(responses)))[0] == "CLIENT_OF_ANOTHER"
    assert await counts(receiver) == {"points": 1}


@pytest.mark.parametrize("caller", [OPERATOR, SERVICE])
async def test_a_person_writes_any(receiver: Receiver, call_as: Callable[[str], Caller], caller: str) -> None:
    requested = call_as(caller)
    for client in WRITERS.values():
        for call in (requested.writes | requested.reads).values():
            await call(client)
    assert await counts(receiver) == {"offers": 2, "points": 2}


async def test_a_service_without_clients_writes_nothing_and_reads_schemas(call_as: Callable[[str], Caller]) -> None:
    requested = call_as("api")
    for name, call in requested.writes.items():
        assert (await refusal(call("offers")))[0] == "CLIENT_OF_ANOTHER", name
    for call in requested.reads.values():
        await call("offers")


async def test_where_callers_need_no_token_nobody_is_told_apart(
    receiver: Receiver, socket_dir: Any, build: Build
) -> None:
    server = build_server(settings_for("receiver"), POLICY, keys=None)
    for servicer in receiver.servicers():
        servicer.add(server)
    target = f"unix:{socket_dir}/open"
    server.add_insecure_port(target)
    await server.start()
    async with grpc.aio.insecure_channel(target) as channel:
        await Caller(channel, build).writes["PushBatch"]("offers")
    await server.stop(0)
    assert await counts(receiver) == {"offers": 1}


def test_each_client_has_one_writer() -> None:
    clients = [client for own in WRITES.values() for client in own]
    assert sorted(clients) == sorted(set(clients))
    assert {caller: frozenset({client}) for caller, client in WRITERS.items()} == dict(WRITES)
