from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from classifeed.documents.v1 import index_queue_service_pb2 as queue_pb
from classifeed.documents.v1 import receiver_service_pb2 as pb
from classifeed.documents.v1 import schema_service_pb2 as schema_pb
from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE as DELETE
from classifeed.documents.v1.document_pb2 import RawDocument, Value
from classifeed.documents.v1.schema_pb2 import EPOCH_STATE_ACTIVE, EPOCH_STATE_OPEN, Schema
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_devkit.testing.texts import check_that_nul_is_refused, spoil_texts
from classifeed_domain.document_shards import hash_of, shard_of
from classifeed_receiver.domain.schemas import EpochState

from ...conftest import Build, Receiver, Stubs

MAIN = queue_pb.INDEX_QUEUE_MAIN
FAILED = queue_pb.INDEX_QUEUE_FAILED


def detail(error: grpc.aio.AioRpcError, kind: Any) -> Any:
    status = rpc_status.from_call(cast(grpc.Call, error))
    assert status is not None
    for packed in status.details:
        if packed.Is(kind.DESCRIPTOR):
            found = kind()
            packed.Unpack(found)
            return found
    raise AssertionError(f"no {kind.__name__} in {status}")


async def all_shards(stubs: Stubs, **request: Any) -> queue_pb.ReadElementsResponse:
    cursors = [queue_pb.QueueCursor(queue=MAIN, shard=shard) for shard in range(64)]
    return await stubs.queue.ReadElements(queue_pb.ReadElementsRequest(client="offers", cursors=cursors, **request))


async def test_push_one_and_read_it(stubs: Stubs, build: Build) -> None:
    response = await stubs.receiver.Push(pb.PushRequest(client="offers", document=build.upsert("a")))
    assert response.result == pb.PushResult(outcome=pb.PUSH_OUTCOME_ACK)
    read = await all_shards(stubs)
    [element] = read.elements
    assert element.document == build.upsert("a")
    assert (element.position.shard, element.position.idx) == (response.position.shard, response.position.idx)
    assert list(read.next) == [element.position]
    again = await stubs.receiver.Push(pb.PushRequest(client="offers", document=build.upsert("a")))
    assert again.result.outcome == pb.PUSH_OUTCOME_ACK
    assert not again.HasField("position")


async def test_a_body_is_read_as_a_body_and_by_older_readers_as_fields(stubs: Stubs, build: Build) -> None:
    pushed = build.upsert("a")
    pushed.ClearField("fields")
    pushed.body = '{ "tags": ["x", "y"], "title": "диван" }'
    again = RawDocument.FromString(pushed.SerializeToString())
    again.body = '{"title":"диван","tags":["x","y"]}'
    for document in (pushed, again):
        response = await stubs.receiver.Push(pb.PushRequest(client="offers", document=document))
        assert response.result.outcome == pb.PUSH_OUTCOME_ACK
    stored = RawDocument.FromString(again.SerializeToString())
    [element] = (await all_shards(stubs, bodies=True)).elements
    assert element.document == stored
    expected = build.upsert("a")
    expected.fields.add(name="tags", values=[Value(string_value="x"), Value(string_value="y")])
    [element] = (await all_shards(stubs)).elements
    assert element.document == expected


async def test_a_wrong_body_is_refused_with_its_field(stubs: Stubs, build: Build) -> None:
    document = build.upsert("a")
    document.ClearField("fields")
    document.body = '{"title":"диван","price":"5"}'
    response = await stubs.receiver.Push(pb.PushRequest(client="offers", document=document))
    assert response.result.outcome == pb.PUSH_OUTCOME_INVALID
    assert [violation.field for violation in response.result.violations.field_violations] == ["body.price"]


async def test_a_document_that_was_pushed_in_a_trace_is_read_with_it(stubs: Stubs, build: Build) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    traces = [pb.DocumentTrace(document=1, traceparent=f"00-{trace_id}-b7ad6b7169203331-01")]
    documents = [build.upsert(pk) for pk in "abc"]
    await stubs.receiver.PushBatch(pb.PushBatchRequest(client="offers", documents=documents, traces=traces))
    read = {element.document.pk: element.traceparent[3:35] for element in (await all_shards(stubs)).elements}
    assert read == {"a": "", "b": trace_id, "c": ""}


async def test_nul_in_any_text_of_a_request_is_refused_by_its_field(
    receiver: Receiver, rpc_server: StartServer, rpc_channel: OpenChannel
) -> None:
    target = await rpc_server("receiver", *receiver.servicers())
    services = ("ReceiverService", "SchemaService", "IndexQueueService")
    await check_that_nul_is_refused(
        rpc_channel, target, "receiver", *(f"classifeed.documents.v1.{name}" for name in services)
    )


async def test_nul_in_a_document_refuses_this_one_at_the_most(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    good = build.upsert("good")
    spoiled = dict(spoil_texts(good))
    for number, (path, document) in enumerate(spoiled.items()):
        if path != "pk":
            document.pk = f"a{number}"
    response = await stubs.receiver.PushBatch(pb.PushBatchRequest(client="offers", documents=[*spoiled.values(), good]))
    outcomes = dict(zip([*spoiled, "good"], (result.outcome for result in response.results), strict=True))
    assert outcomes.pop("good") == pb.PUSH_OUTCOME_ACK
    assert {path for path, outcome in outcomes.items() if outcome == pb.PUSH_OUTCOME_INVALID} == {
        path for path in spoiled if path == "pk" or path.endswith(".name")
    }
    await all_shards(stubs)


async def test_every_outcome_of_a_batch(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    await stubs.receiver.Push(pb.PushRequest(client="offers", document=build.upsert("old", 5)))
    wrong = build.upsert("wrong")
    wrong.fields[0].values[0].int_value = 3
    documents = [build.upsert("a"), build.upsert("old", 4), wrong, build.upsert("old", 5, title="other"), RawDocument()]
    response = await stubs.receiver.PushBatch(pb.PushBatchRequest(client="offers", documents=documents))
    assert [pb.PushOutcome.Name(result.outcome)[13:] for result in response.results] == [
        "ACK",
        "STALE",
        "INVALID",
        "INVALID",
        "INVALID",
    ]
    [violation] = response.results[2].violations.field_violations
    assert violation.field == "fields[0].values[0]"
    assert "title is TEXT and takes string_value" in violation.description
    assert "CONFLICT" in response.results[3].violations.field_violations[0].description
    assert {v.field for v in response.results[4].violations.field_violations} == {
        "pk",
        "version",
        "epoch",
        "action",
        "timestamp",
    }
    assert [(position.shard, position.idx) for position in response.positions] == await receiver.fetch(
        "SELECT shard, idx FROM elements WHERE pk = 'a'"
    )


async def test_epoch_too_old_names_the_epoch_in_force(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    await receiver.put_epoch(build.schema(2), EpochState.ACTIVE)
    response = await stubs.receiver.Push(pb.PushRequest(client="offers", document=build.upsert("a")))
    assert response.result == pb.PushResult(outcome=pb.PUSH_OUTCOME_EPOCH_TOO_OLD, current_epoch=2)


async def test_stream_answers_in_order(stubs: Stubs, build: Build) -> None:
    async def requests() -> AsyncIterator[pb.PushBatchRequest]:
        for number in range(30):
            size = 1 if number % 2 else 80
            documents = [build.upsert(f"{number}-{key}") for key in range(size)]
            yield pb.PushBatchRequest(client="offers", documents=documents)

    sizes = [len(response.results) async for response in stubs.receiver.PushStream(requests())]
    assert sizes == [1 if number % 2 else 80 for number in range(30)]
    read = await all_shards(stubs, limit=1000)
    assert len(read.elements) == 15 + 15 * 80


async def test_stream_answers_what_came_before_a_wrong_request(stubs: Stubs, build: Build) -> None:
    async def requests() -> AsyncIterator[pb.PushBatchRequest]:
        yield pb.PushBatchRequest(client="offers", documents=[build.upsert("a")])
        yield pb.PushBatchRequest(client="Offers!", documents=[build.upsert("b")])

    responses = aiter(stubs.receiver.PushStream(requests()))
    assert (await anext(responses)).results[0].outcome == pb.PUSH_OUTCOME_ACK
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await anext(responses)
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert detail(raised.value, error_details_pb2.BadRequest).field_violations[0].field == "client"


async def test_sender_that_does_not_read_is_held_up(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    """The reader of the responses sleeps: requests are read only up to the windows of HTTP/2."""
    sent = 0
    big = "д" * 20_000

    async def requests() -> AsyncIterator[pb.PushBatchRequest]:
        nonlocal sent
        for number in range(2000):
            wrong = [build.upsert(f"{number}-{key}", title=big) for key in range(5)]
            for document in wrong:
                document.fields.add(name="x" * 5000)  # refused, with a response of 5 kB
            yield pb.PushBatchRequest(client="offers", documents=wrong)
            sent += 1

    call = stubs.receiver.PushStream(requests())
    deadline = asyncio.get_running_loop().time() + 120
    before = -1
    while sent != before or not sent:  # until nothing has moved for a while
        assert asyncio.get_running_loop().time() < deadline
        before = sent
        await asyncio.sleep(1)
    assert 0 < sent < 200
    call.cancel()


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (pb.PushBatchRequest(client="offers"), "documents"),
        (pb.PushBatchRequest(client="", documents=[RawDocument()]), "client"),
        (pb.PushBatchRequest(client="offers", documents=[RawDocument()] * 501), "documents"),
    ],
)
async def test_wrong_batch_is_refused_with_the_field(stubs: Stubs, request_: Any, field: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stubs.receiver.PushBatch(request_)
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert [v.field for v in detail(raised.value, error_details_pb2.BadRequest).field_violations] == [field]


@pytest.mark.parametrize(
    ("cursors", "field"),
    [
        ([], "cursors"),
        ([queue_pb.QueueCursor(queue=MAIN, shard=64)], "cursors[0].shard"),
        ([queue_pb.QueueCursor(shard=1)], "cursors[0].queue"),
        ([queue_pb.QueueCursor(queue=MAIN, shard=1, idx=-1)], "cursors[0].idx"),
        ([queue_pb.QueueCursor(queue=MAIN, shard=1)] * 2, "cursors[1]"),
    ],
)
async def test_wrong_read_is_refused_with_the_field(stubs: Stubs, cursors: list[Any], field: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stubs.queue.ReadElements(queue_pb.ReadElementsRequest(client="offers", cursors=cursors))
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert [v.field for v in detail(raised.value, error_details_pb2.BadRequest).field_violations] == [field]


async def test_trimmed_cursor_says_what_to_do(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    pushed = await stubs.receiver.Push(pb.PushRequest(client="offers", document=build.upsert("a")))
    await receiver.fetch("UPDATE shards SET trimmed_idx = last_idx RETURNING 1")
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await all_shards(stubs)
    assert raised.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    info = detail(raised.value, error_details_pb2.ErrorInfo)
    assert info.reason == "CURSOR_TRIMMED"
    assert info.metadata["shard"] == str(pushed.position.shard)


async def test_failures_and_progress(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    pushed = await stubs.receiver.Push(pb.PushRequest(client="offers", document=build.upsert("a")))
    position = queue_pb.QueueCursor(queue=MAIN, shard=pushed.position.shard, idx=pushed.position.idx)
    failed = queue_pb.FailedElement(position=position, pk="a", reason="no such type")
    for _ in range(2):
        await stubs.queue.AppendFailed(queue_pb.AppendFailedRequest(client="offers", elements=[failed]))
    start = queue_pb.QueueCursor(queue=FAILED, shard=position.shard)
    read = await stubs.queue.ReadElements(queue_pb.ReadElementsRequest(client="offers", cursors=[start]))
    assert [element.document.pk for element in read.elements] == ["a"]
    report = queue_pb.ReportProgressRequest(group="search", client="offers", cursors=[position])
    await stubs.queue.ReportProgress(report)
    assert await receiver.fetch('SELECT "group", queue, idx FROM progress') == [("search", 1, position.idx)]


async def test_ends_of_queues_and_progress(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    pushed = (await stubs.receiver.Push(pb.PushRequest(client="offers", document=build.upsert("a")))).position
    await stubs.receiver.Push(pb.PushRequest(client="offers", document=build.upsert("a", 2)))
    for group, idx in (("search", pushed.idx), ("archive", 0)):
        cursor = queue_pb.QueueCursor(queue=MAIN, shard=pushed.shard, idx=idx)
        await stubs.queue.ReportProgress(queue_pb.ReportProgressRequest(group=group, client="offers", cursors=[cursor]))
    for group, delivered in (("search", pushed.idx), ("archive", 0), ("nobody", 0), ("", pushed.idx)):
        response = await stubs.queue.GetQueueEnds(queue_pb.GetQueueEndsRequest(client="offers", group=group))
        [ends] = response.ends
        assert (ends.queue, ends.shard, ends.trimmed_idx, ends.delivered_idx) == (MAIN, pushed.shard, 0, delivered)
        assert ends.last_idx > pushed.idx


async def test_refill_puts_every_document_of_a_shard_into_its_queue_in_steps(
    receiver: Receiver, stubs: Stubs, build: Build
) -> None:
    shard = 40
    pks = [pk for pk in (f"k{n}" for n in range(5000)) if shard_of(hash_of(pk)) == shard][:25]
    others = [pk for pk in (f"other{n}" for n in range(50)) if shard_of(hash_of(pk)) != shard]
    await receiver.push(*[build.upsert(pk) for pk in (*pks, *others)])
    await receiver.push(build.delete(pks[0], 2))
    request, sizes = queue_pb.RefillRequest(client="offers", shard=shard, limit=10), []
    while True:
        step = await stubs.queue.Refill(request)
        sizes.append(step.elements)
        if not step.HasField("next"):
            break
        request.after.CopyFrom(step.next)
        request.last_idx = step.last_idx
    assert sizes == [10, 10, 5, 0]
    cursor = queue_pb.QueueCursor(queue=queue_pb.INDEX_QUEUE_EMERGENCY, shard=shard)
    read = await stubs.queue.ReadElements(queue_pb.ReadElementsRequest(client="offers", cursors=[cursor]))
    assert sorted(element.document.pk for element in read.elements) == sorted(pks)
    assert [element.document.pk for element in read.elements if element.document.action == DELETE] == [pks[0]]
    assert read.next[0].idx == request.last_idx
    request.last_idx += 1
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stubs.queue.Refill(request)
    assert detail(raised.value, error_details_pb2.ErrorInfo).reason == "CURSOR_UNKNOWN"
    empty = await stubs.queue.Refill(queue_pb.RefillRequest(client="nobody", shard=3))
    assert empty == queue_pb.RefillResponse()


async def test_schemas(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stubs.schemas.PutSchema(schema_pb.PutSchemaRequest(schema=build.schema(2)))
    assert detail(raised.value, error_details_pb2.ErrorInfo).reason == "SECOND_EPOCH_UNAVAILABLE"
    await receiver.put_epoch(build.schema(2), EpochState.OPEN)
    active = await stubs.schemas.GetSchema(schema_pb.GetSchemaRequest(client="offers"))
    assert (active.epoch, active.state) == (1, EPOCH_STATE_ACTIVE)
    assert active.fields == build.schema().fields
    opened = await stubs.schemas.GetSchema(schema_pb.GetSchemaRequest(client="offers", epoch=2))
    assert (opened.epoch, opened.state) == (2, EPOCH_STATE_OPEN)
    listed = await stubs.schemas.ListEpochs(schema_pb.ListEpochsRequest(client="offers"))
    assert [schema.epoch for schema in listed.schemas] == [2, 1]
    reader = SchemaServiceStub(stubs.indexer)
    for request in (schema_pb.GetSchemaRequest(client="offers", epoch=9), schema_pb.GetSchemaRequest(client="nobody")):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await reader.GetSchema(request)
        assert raised.value.code() == grpc.StatusCode.NOT_FOUND
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stubs.schemas.PutSchema(schema_pb.PutSchemaRequest(schema=Schema(client="offers", epoch=3)))
    assert detail(raised.value, error_details_pb2.BadRequest).field_violations[0].field == "schema.fields"
