"""The interceptor and the channel, over real sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from prometheus_client import REGISTRY

from classifeed.documents.v1 import receiver_service_pb2 as receiver_pb2
from classifeed.documents.v1.receiver_service_pb2_grpc import (
    ReceiverServiceServicer,
    ReceiverServiceStub,
    add_ReceiverServiceServicer_to_server,
)
from classifeed.offers.v1 import offer_pb2, offer_service_pb2
from classifeed.offers.v1.offer_service_pb2_grpc import (
    OfferServiceServicer,
    OfferServiceStub,
    add_OfferServiceServicer_to_server,
)
from classifeed_common.auth import KeyStore
from classifeed_common.errors import FieldViolation, InvalidArgument, NotFound, Unavailable
from classifeed_common.rpc.call import current_call, remaining_s
from classifeed_common.rpc.client import service_config
from classifeed_common.rpc.server import Servicer, build_server
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.rpc import OpenChannel, StartServer, settings_for
from classifeed_domain.policy import POLICY

NAME = "sellers/s/feeds/default/offers/1"
GET = "classifeed.offers.v1.OfferService/GetOffer"
Handler = Callable[[offer_service_pb2.GetOfferRequest], Awaitable[offer_pb2.Offer]]


async def echo(request: offer_service_pb2.GetOfferRequest) -> offer_pb2.Offer:
    return offer_pb2.Offer(name=request.name)


class Offers(OfferServiceServicer):
    def __init__(self, respond: Handler = echo) -> None:
        self._respond = respond

    async def GetOffer(self, request: Any, context: Any) -> offer_pb2.Offer:
        return await self._respond(request)


class Receiver(ReceiverServiceServicer):
    def __init__(self) -> None:
        self.taken: list[str] = []
        self.ended = asyncio.Event()
        self.finished = 0

    async def PushStream(self, request_iterator: Any, context: Any) -> AsyncIterator[receiver_pb2.PushBatchResponse]:
        try:
            async for batch in request_iterator:
                self.taken.append(batch.client)
                if batch.client == "missing":
                    raise NotFound("CLIENT_NOT_FOUND", "There is no such client.")
                yield receiver_pb2.PushBatchResponse()
            self.finished += 1
        finally:
            self.ended.set()


def serve_offers(respond: Handler = echo) -> Servicer:
    return Servicer.of(add_OfferServiceServicer_to_server, Offers(respond))


def request(name: str = NAME) -> offer_service_pb2.GetOfferRequest:
    return offer_service_pb2.GetOfferRequest(name=name)


async def refusal(call: Awaitable[object]) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    return refused.value


def calls_counted(code: str, method: str = GET) -> float:
    labels = {"rpc_method": method, "rpc_response_status_code": code}
    return REGISTRY.get_sample_value("rpc_server_call_duration_seconds_count", labels) or 0.0


async def until_counted(code: str, count: float) -> None:
    """Wait for the count: the caller may get its response a moment before the server counts it."""
    async with asyncio.timeout(60):
        while calls_counted(code) < count:
            await asyncio.sleep(0.005)
    assert calls_counted(code) == count


async def test_a_token_of_a_listed_caller_lets_a_call_pass(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    target = await rpc_server("offers", serve_offers())
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
    assert (await stub.GetOffer(request())).name == NAME


async def test_without_a_token_nothing_else_is_looked_at(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    requests: list[object] = []

    async def respond(request: object) -> offer_pb2.Offer:
        requests.append(request)
        return offer_pb2.Offer()

    target = await rpc_server("offers", serve_offers(respond))
    before = calls_counted("UNAUTHENTICATED")
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers", signed=False))
    for name in (NAME, "nonsense"):
        error = await refusal(stub.GetOffer(request(name)))
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED
        assert from_rpc_error(error).reason == "TICKET_MISSING"
    assert requests == []
    await until_counted("UNAUTHENTICATED", before + 2)


async def test_a_token_for_another_service_is_refused(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    target = await rpc_server("offers", serve_offers())
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="receiver"))
    assert from_rpc_error(await refusal(stub.GetOffer(request()))).reason == "TICKET_FOR_ANOTHER"


async def test_a_caller_that_is_not_listed_is_refused(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    target = await rpc_server("offers", serve_offers())
    stub = OfferServiceStub(rpc_channel(target, caller="indexer", audience="offers"))
    error = await refusal(stub.GetOffer(request()))
    assert error.code() is grpc.StatusCode.PERMISSION_DENIED
    assert from_rpc_error(error).metadata["caller"] == "indexer"


async def test_a_wrong_request_names_its_field(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    target = await rpc_server("offers", serve_offers())
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
    error = await refusal(stub.GetOffer(request("nonsense")))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert [violation.field for violation in from_rpc_error(error).violations] == ["name"]
    assert "GetOfferRequest.name" in (error.details() or "")


async def test_each_message_of_a_stream_is_checked(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    receiver = Receiver()
    target = await rpc_server("receiver", Servicer.of(add_ReceiverServiceServicer_to_server, receiver))
    stub = ReceiverServiceStub(rpc_channel(target, caller="offers", audience="receiver"))
    good = receiver_pb2.PushBatchRequest(client="offers")
    good.documents.add()
    bad = receiver_pb2.PushBatchRequest(client="NOT A CLIENT")
    bad.documents.add()
    call = stub.PushStream(iter([good, bad, good]))
    responses = []
    with pytest.raises(grpc.aio.AioRpcError) as refused:  # noqa: PT012 the responses before the refusal count
        async for response in call:
            responses.append(response)  # noqa: PERF401
    assert len(responses) == 1
    assert receiver.taken == ["offers"]
    assert [violation.field for violation in from_rpc_error(refused.value).violations] == ["client"]


async def test_an_error_in_the_middle_of_a_stream_is_explained(
    rpc_server: StartServer, rpc_channel: OpenChannel
) -> None:
    target = await rpc_server("receiver", Servicer.of(add_ReceiverServiceServicer_to_server, Receiver()))
    stub = ReceiverServiceStub(rpc_channel(target, caller="offers", audience="receiver"))
    batch = receiver_pb2.PushBatchRequest(client="missing")
    batch.documents.add()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        async for _ in stub.PushStream(iter([batch])):
            pass
    assert from_rpc_error(refused.value).reason == "CLIENT_NOT_FOUND"


async def test_a_stream_that_breaks_never_looks_finished(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    receiver = Receiver()
    target = await rpc_server("receiver", Servicer.of(add_ReceiverServiceServicer_to_server, receiver))
    stub = ReceiverServiceStub(rpc_channel(target, caller="offers", audience="receiver"))
    method = "classifeed.documents.v1.ReceiverService/PushStream"
    before = calls_counted("CANCELLED", method)
    call = stub.PushStream()
    batch = receiver_pb2.PushBatchRequest(client="offers")
    batch.documents.add()
    await call.write(batch)
    await call.read()
    call.cancel()
    async with asyncio.timeout(60):
        await receiver.ended.wait()
        while calls_counted("CANCELLED", method) == before:
            await asyncio.sleep(0.005)
    assert receiver.finished == 0


async def test_a_stream_that_its_caller_ends_is_finished(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    receiver = Receiver()
    target = await rpc_server("receiver", Servicer.of(add_ReceiverServiceServicer_to_server, receiver))
    stub = ReceiverServiceStub(rpc_channel(target, caller="offers", audience="receiver"))
    batch = receiver_pb2.PushBatchRequest(client="offers")
    batch.documents.add()
    assert len([response async for response in stub.PushStream(iter([batch, batch]))]) == 2
    assert receiver.finished == 1


async def test_a_domain_error_arrives_whole(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    async def respond(_: object) -> offer_pb2.Offer:
        raise InvalidArgument(
            "PAGE_TOKEN_BAD", "Начните сначала.", violations=[FieldViolation("page_token", "is old")], retry_after_s=2
        )

    target = await rpc_server("offers", serve_offers(respond))
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
    error = from_rpc_error(await refusal(stub.GetOffer(request())))
    assert (error.reason, error.message, error.retry_after_s) == ("PAGE_TOKEN_BAD", "Начните сначала.", 2)
    assert error.violations == [FieldViolation("page_token", "is old")]


async def test_a_fault_of_ours_does_not_leave_the_process(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    async def respond(_: object) -> offer_pb2.Offer:
        raise RuntimeError("dsn=postgresql://offers:hunter2@db")

    target = await rpc_server("offers", serve_offers(respond))
    before = calls_counted("INTERNAL")
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
    error = await refusal(stub.GetOffer(request()))
    assert error.code() is grpc.StatusCode.INTERNAL
    assert "hunter2" not in str(error)
    await until_counted("INTERNAL", before + 1)


async def test_a_method_without_an_answer_is_unimplemented(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    target = await rpc_server("offers", serve_offers())
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
    listing = offer_service_pb2.ListOffersRequest(parent="sellers/s/feeds/default")
    assert (await refusal(stub.ListOffers(listing))).code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_service_waits_for_another_no_longer_than_its_own_caller(
    rpc_server: StartServer, rpc_channel: OpenChannel
) -> None:
    seen: list[float | None] = []

    async def last(request: offer_service_pb2.GetOfferRequest) -> offer_pb2.Offer:
        seen.append(remaining_s())
        return offer_pb2.Offer()

    behind = await rpc_server("offers", serve_offers(last))
    inner = OfferServiceStub(rpc_channel(behind, caller="api", audience="offers"))

    async def first(request: offer_service_pb2.GetOfferRequest) -> offer_pb2.Offer:
        return await inner.GetOffer(request)

    front = await rpc_server("offers", serve_offers(first))
    outer = OfferServiceStub(rpc_channel(front, caller="operator", audience="offers"))
    await outer.GetOffer(request(), timeout=20)
    await outer.GetOffer(request())
    bounded, by_default = seen
    assert bounded is not None
    assert by_default is not None
    # gRPC rounds deadlines up on the wire, by some hundredths of a second at most.
    assert 0 < bounded < 20.5
    assert 20.5 < by_default < 60.5


async def test_the_request_id_goes_along(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    ids: list[str] = []

    async def last(_: object) -> offer_pb2.Offer:
        ids.append((current_call() or pytest.fail("no call")).request_id)
        return offer_pb2.Offer()

    behind = await rpc_server("offers", serve_offers(last))
    inner = OfferServiceStub(rpc_channel(behind, caller="api", audience="offers"))

    async def first(request: offer_service_pb2.GetOfferRequest) -> offer_pb2.Offer:
        ids.append((current_call() or pytest.fail("no call")).request_id)
        return await inner.GetOffer(request)

    front = await rpc_server("offers", serve_offers(first))
    await OfferServiceStub(rpc_channel(front, caller="operator", audience="offers")).GetOffer(request())
    assert len(ids) == 2
    assert ids[0] == ids[1] != ""


async def test_time_that_runs_out_is_said_and_counted_so(rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    async def respond(_: object) -> offer_pb2.Offer:
        await asyncio.Event().wait()
        return offer_pb2.Offer()

    target = await rpc_server("offers", serve_offers(respond))
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
    before = calls_counted("DEADLINE_EXCEEDED")
    started = time.monotonic()
    error = await refusal(stub.GetOffer(request(), timeout=0.1))
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert time.monotonic() - started < 50, "not only at the default of 60 s"
    async with asyncio.timeout(60):
        while calls_counted("DEADLINE_EXCEEDED") == before:
            await asyncio.sleep(0.005)


async def test_a_refusal_from_behind_reaches_the_caller_as_it_is(
    rpc_server: StartServer, rpc_channel: OpenChannel
) -> None:
    async def nobody(_: object) -> offer_pb2.Offer:
        raise NotFound("OFFER_NOT_FOUND", "There is no such offer.", metadata={"name": NAME})

    behind = await rpc_server("offers", serve_offers(nobody))
    inner = OfferServiceStub(rpc_channel(behind, caller="api", audience="offers"))
    unsigned = OfferServiceStub(rpc_channel(behind, caller="api", audience="offers", signed=False))

    async def first(request: offer_service_pb2.GetOfferRequest) -> offer_pb2.Offer:
        return await (unsigned if request.name.endswith("unsigned") else inner).GetOffer(request)

    front = await rpc_server("offers", serve_offers(first))
    outer = OfferServiceStub(rpc_channel(front, caller="operator", audience="offers"))
    error = await refusal(outer.GetOffer(request()))
    assert (error.code(), from_rpc_error(error).reason) == (grpc.StatusCode.NOT_FOUND, "OFFER_NOT_FOUND")
    error = await refusal(outer.GetOffer(request(NAME + "unsigned")))
    assert error.code() is grpc.StatusCode.INTERNAL


async def test_a_call_that_may_be_repeated_is_until_the_service_is_back(
    rpc_server: StartServer, rpc_channel: OpenChannel
) -> None:
    tries: list[object] = []

    async def respond(request: offer_service_pb2.GetOfferRequest) -> offer_pb2.Offer:
        tries.append(request)
        if len(tries) < 3:
            raise Unavailable("RESTARTING", "Try again.")
        return offer_pb2.Offer(name=request.name)

    target = await rpc_server("offers", serve_offers(respond))
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
    assert (await stub.GetOffer(request())).name == NAME
    assert len(tries) == 3


def test_only_unary_calls_that_the_proto_calls_idempotent_are_repeated() -> None:
    config = service_config()
    assert '"method": "CreateTask"' in config
    assert '"method": "PushBatch"' in config
    assert '"method": "PushStream"' not in config
    assert '"method": "UploadFeed"' not in config
    assert '"method": "WatchTask"' not in config


async def test_calls_wait_until_the_service_has_opened_what_it_works_with(
    keys: KeyStore, rpc_channel: OpenChannel, socket_dir: Any
) -> None:
    started = asyncio.Event()
    server = build_server(settings_for("offers"), POLICY, keys=keys, is_started=started.is_set)
    serve_offers().add(server)
    target = f"unix:{socket_dir}/gate"
    server.add_insecure_port(target)
    await server.start()
    try:
        stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
        waiting = asyncio.ensure_future(stub.GetOffer(request()))
        asyncio.get_running_loop().call_later(0.05, started.set)
        assert (await waiting).name == NAME
    finally:
        await server.stop(0)


async def test_large_messages_pass_and_larger_ones_are_refused(
    rpc_server: StartServer, rpc_channel: OpenChannel
) -> None:
    async def respond(request: offer_service_pb2.GetOfferRequest) -> offer_pb2.Offer:
        size = int(request.name.rpartition("/")[2])
        return offer_pb2.Offer(content=offer_pb2.OfferContent(description="x" * size))

    target = await rpc_server("offers", serve_offers(respond))
    stub = OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
    prefix = NAME.rpartition("/")[0]
    big = await stub.GetOffer(request(f"{prefix}/{8 * 1024 * 1024}"))
    assert len(big.content.description) == 8 * 1024 * 1024
    error = await refusal(stub.GetOffer(request(f"{prefix}/{17 * 1024 * 1024}")))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
