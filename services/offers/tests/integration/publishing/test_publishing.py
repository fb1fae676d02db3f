"""From a due offer to the receiver's response; the mark moves for settled offers."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed.documents.v1.receiver_service_pb2 import (
    PUSH_OUTCOME_ACK,
    PUSH_OUTCOME_EPOCH_TOO_OLD,
    PUSH_OUTCOME_INVALID,
    PUSH_OUTCOME_RETRY,
    PUSH_OUTCOME_STALE,
    CheckPositionsRequest,
    CheckPositionsResponse,
    PushBatchRequest,
    PushBatchResponse,
    PushOutcome,
    PushResult,
)
from classifeed.documents.v1.receiver_service_pb2_grpc import (
    ReceiverServiceServicer,
    add_ReceiverServiceServicer_to_server,
)
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.documents.v1.schema_service_pb2 import PutSchemaRequest
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceServicer, add_SchemaServiceServicer_to_server
from classifeed_common.db import fetch_as
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_domain.document_bodies import encode_body
from classifeed_domain.publishing import ReceiverClient, put_schema
from classifeed_offers.domain.documents import DueOffer, schema
from classifeed_offers.store import publishing

from ...conftest import Load, NewPublishing, Owner, Records


class FakeReceiver(ReceiverServiceServicer, SchemaServiceServicer):
    """Responds as the test sets it; keeps what it acknowledges."""

    def __init__(self) -> None:
        self.outcomes: dict[str, PushOutcome] = {}
        self.documents: dict[str, RawDocument] = {}
        self.schemas: list[Schema] = []
        self.refusals = 0
        self.takes_bodies = True
        self.batches = 0

    async def PushBatch(self, request: PushBatchRequest, context: Context) -> PushBatchResponse:
        assert request.client == "offers"
        results = []
        self.batches += 1
        for document in request.documents:
            outcome = self.outcomes.get(document.pk.rpartition("/")[2], PUSH_OUTCOME_ACK)
            if document.body and not self.takes_bodies:
                outcome = PUSH_OUTCOME_INVALID
            violation = BadRequest.FieldViolation(field="title", description="too long")
            violations = BadRequest(field_violations=[violation]) if outcome == PUSH_OUTCOME_INVALID else None
            results.append(PushResult(outcome=outcome, violations=violations))
            if outcome == PUSH_OUTCOME_ACK:
                self.documents[document.pk] = document
        return PushBatchResponse(results=results)

    async def CheckPositions(self, request: CheckPositionsRequest, context: Context) -> CheckPositionsResponse:
        return CheckPositionsResponse(ends=request.positions)

    async def PutSchema(self, request: PutSchemaRequest, context: Context) -> Schema:
        if self.refusals:
            self.refusals -= 1
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not yet")
        self.schemas.append(request.schema)
        return request.schema


@pytest.fixture
def fake() -> FakeReceiver:
    return FakeReceiver()


@pytest.fixture
async def receiver(fake: FakeReceiver, rpc_server: StartServer, rpc_channel: OpenChannel) -> ReceiverClient:
    target = await rpc_server(
        "receiver",
        Servicer.of(add_ReceiverServiceServicer_to_server, fake),
        Servicer.of(add_SchemaServiceServicer_to_server, fake),
    )
    return ReceiverClient(rpc_channel(target, caller="offers", audience="receiver"), schema())


async def test_the_pusher_publishes_all_and_an_unpublishable_one_blocks_nobody(
    owner: Owner,
    receiver: ReceiverClient,
    fake: FakeReceiver,
    records: Records,
    new_load: type[Load],
    new_publishing: NewPublishing,
) -> None:
    """With the real MarkPusher: a refused schema field, a busy receiver, and 700 other offers after them."""
    names = ["invalid", "retry", *(str(number) for number in range(700))]
    await owner.load(new_load([records.good(name) for name in names], batch_size=100))
    fake.outcomes = {"invalid": PUSH_OUTCOME_INVALID, "retry": PUSH_OUTCOME_RETRY}
    publishing = new_publishing(receiver)
    async with publishing.running(), asyncio.timeout(120):
        while await publishing.pusher.backlog() > 1:
            await asyncio.sleep(0.05)
        assert len(fake.documents) == 700
        fake.outcomes.clear()
        while await publishing.pusher.backlog():
            await asyncio.sleep(0.05)
    assert "seller/default/retry" in fake.documents
    assert "seller/default/invalid" not in fake.documents
    async with owner.database.connection() as connection:
        cursor = await connection.execute("SELECT count(*) FROM offers WHERE version <> published_version")
        assert await cursor.fetchone() == (0,)


async def test_the_mark_does_not_wait_for_a_load(owner: Owner, records: Records, new_load: type[Load]) -> None:
    await owner.load(new_load([records.good(name) for name in "abc"]))
    rows = await list_due(owner)
    marks = {"offer_ids": [row[0] for row in rows], "versions": [row[1] for row in rows]}
    async with owner.database.transaction() as load, owner.database.transaction(timeout_s=25) as mark:
        await load.execute("UPDATE offers SET version = version + 1 WHERE external_id = 'b'")
        await mark.execute(publishing.ADVANCE, marks)
    assert [due.external_id for due in await list_due(owner)] == ["b"]


async def list_due(owner: Owner) -> list[DueOffer]:
    async with owner.database.transaction() as tx:
        return await fetch_as(tx, DueOffer, publishing.SELECT_DUE, {"limit": 500, "above": 0})


async def test_a_receiver_from_before_bodies_gets_fields(receiver: ReceiverClient, fake: FakeReceiver) -> None:
    bodies = {name: {"seller": "s", "namespace": "d", "external_id": name} for name in ("a", "b")}
    documents = [RawDocument(pk=name, version=1, body=encode_body(values)) for name, values in bodies.items()]
    documents.append(RawDocument(pk="c", version=1, body='{"seller":5}'))
    for takes_bodies, batches in ((True, 1), (False, 3)):
        fake.takes_bodies = takes_bodies
        fake.outcomes = {} if takes_bodies else {"c": PUSH_OUTCOME_INVALID}
        pushed = await receiver.push(documents, {}, {1: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
        outcomes = [result.outcome for result in pushed.results]
        assert outcomes == [PUSH_OUTCOME_ACK] * 2 + [PUSH_OUTCOME_ACK if takes_bodies else PUSH_OUTCOME_INVALID]
        assert fake.batches == batches
        kept = fake.documents["b"]
        assert bool(kept.body) is takes_bodies
        assert {field.name: field.values[0].string_value for field in kept.fields} == (
            {} if takes_bodies else bodies["b"]
        )


async def test_each_outcome_settles_or_stays(
    owner: Owner,
    receiver: ReceiverClient,
    fake: FakeReceiver,
    records: Records,
    new_load: type[Load],
    new_publishing: NewPublishing,
) -> None:
    await owner.load(new_load([records.good(name) for name in ("ack", "stale", "invalid", "retry", "old")]))
    fake.outcomes = {
        "stale": PUSH_OUTCOME_STALE,
        "invalid": PUSH_OUTCOME_INVALID,
        "retry": PUSH_OUTCOME_RETRY,
        "old": PUSH_OUTCOME_EPOCH_TOO_OLD,
    }
    rows = await list_due(owner)
    settled = await new_publishing(receiver).publish_offers(rows)
    assert {row[4]: done for row, done in zip(rows, settled, strict=True)} == {
        "ack": True,
        "stale": True,
        "invalid": True,
        "retry": False,
        "old": False,
    }


async def test_the_schema_is_put_again_until_it_is_taken(receiver: ReceiverClient, fake: FakeReceiver) -> None:
    fake.refusals = 2
    faults: list[str] = []
    async with asyncio.timeout(90):
        assert await put_schema(receiver, schema(), asyncio.Event(), faults.append)
    assert fake.schemas == [schema()]
    assert ["not yet" in fault for fault in faults] == [True, True, False]
    assert faults[-1] == "", "it is no longer named"


async def test_stopping_ends_the_wait_for_the_receiver(receiver: ReceiverClient, fake: FakeReceiver) -> None:
    fake.refusals = 1000
    stop = asyncio.Event()
    faults: list[str] = []
    waiting = asyncio.create_task(put_schema(receiver, schema(), stop, faults.append))
    async with asyncio.timeout(90):
        while fake.refusals == 1000:
            await asyncio.sleep(0.01)
        stop.set()
        assert await waiting is False


async def test_removed_offers_are_deleted_and_shown_again_when_they_come_back(
    owner: Owner,
    receiver: ReceiverClient,
    fake: FakeReceiver,
    records: Records,
    new_load: type[Load],
    new_publishing: NewPublishing,
) -> None:
    for task, names in ((1, "ab"), (2, "a"), (3, "ab")):
        await owner.load(new_load([records.good(name) for name in names], task))
        await new_publishing(receiver).publish_offers(await list_due(owner))
        document = fake.documents["seller/default/b"]
        assert document.action == (DOCUMENT_ACTION_DELETE if task == 2 else DOCUMENT_ACTION_UPSERT)
        rows = await owner.rows()
        assert document.version == rows["b"][6]
