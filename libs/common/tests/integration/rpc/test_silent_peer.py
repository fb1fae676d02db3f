"""gRPC peers whose connections stay open without a response: calls and streams notice it, at both ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc
import grpc.aio
import pytest

from classifeed.documents.v1 import receiver_service_pb2 as receiver_pb2
from classifeed.documents.v1.document_pb2 import RawDocument
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
from classifeed_common.auth import KeyStore, Policy
from classifeed_common.rpc.keepalive import KEEPALIVE, PERMITTED_PINGS, PING_EVERY_S
from classifeed_common.rpc.server import Servicer, build_server
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import RECOVERY_LIMIT_S, Stopwatch
from classifeed_devkit.testing.rpc import OpenChannel, settings_for
from classifeed_devkit.testing.tcp_proxy import MakeProxy, TcpProxy

pytestmark = pytest.mark.slow

BATCH = receiver_pb2.PushBatchRequest(client="offers", documents=[RawDocument()])
OFFER = offer_service_pb2.GetOfferRequest(name="sellers/s/feeds/default/offers/1")


class Receiver(ReceiverServiceServicer):
    """Responds to each batch, and records when a stream is reported as ended."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def PushStream(self, request_iterator: Any, context: Any) -> AsyncIterator[receiver_pb2.PushBatchResponse]:
        try:
            async for _ in request_iterator:
                yield receiver_pb2.PushBatchResponse()
        finally:
            self.ended.set()


class Offers(OfferServiceServicer):
    async def GetOffer(self, request: Any, context: Any) -> offer_pb2.Offer:
        return offer_pb2.Offer(name=request.name)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
async def proxy(receiver: Receiver, keys: KeyStore, tcp_proxy: MakeProxy) -> AsyncIterator[TcpProxy]:
    """Yield a proxy for a TCP server with both services."""
    methods = ("documents.v1.ReceiverService/PushStream", "offers.v1.OfferService/GetOffer")
    policy = Policy({f"/classifeed.{method}": frozenset({"offers"}) for method in methods})
    server = build_server(settings_for("receiver"), policy, keys=keys)
    Servicer.of(add_ReceiverServiceServicer_to_server, receiver).add(server)
    Servicer.of(add_OfferServiceServicer_to_server, Offers()).add(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield tcp_proxy("127.0.0.1", port)
    await server.stop(0)


@pytest.fixture
def channel(proxy: TcpProxy, rpc_channel: OpenChannel) -> grpc.aio.Channel:
    return rpc_channel(proxy.address, caller="offers", audience="receiver", default_timeout_s=10.0)


async def test_a_call_that_may_be_repeated_succeeds_soon_after_a_silence(
    proxy: TcpProxy, channel: grpc.aio.Channel
) -> None:
    stub = OfferServiceStub(channel)
    await stub.GetOffer(OFFER)
    proxy.silence_existing()
    watch = Stopwatch("gRPC: unary call")
    async with asyncio.timeout(RECOVERY_LIMIT_S):
        while True:
            try:
                assert (await stub.GetOffer(OFFER)).name == OFFER.name
            except grpc.aio.AioRpcError as error:
                assert error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)
            else:
                break
    watch.stop()


@in_campaigns
async def test_a_stream_without_a_deadline_ends_at_both_ends_after_a_silence(
    proxy: TcpProxy, channel: grpc.aio.Channel, receiver: Receiver
) -> None:
    call = ReceiverServiceStub(channel).PushStream()
    await call.write(BATCH)
    await call.read()
    proxy.silence_existing()
    watch = Stopwatch("gRPC: a stream, seen by its client")
    async with asyncio.timeout(RECOVERY_LIMIT_S):
        assert await code_of(call.read()) is grpc.StatusCode.UNAVAILABLE
        watch.stop()
        await receiver.ended.wait()
    watch.stop()


async def test_a_peer_that_takes_half_a_second_to_connect_is_reached(
    proxy: TcpProxy, channel: grpc.aio.Channel
) -> None:
    proxy.silence_all()
    call = ReceiverServiceStub(channel).PushStream()  # streams are not retried
    asyncio.get_running_loop().call_later(0.5, proxy.resume)
    await call.write(BATCH)
    assert await call.read() == receiver_pb2.PushBatchResponse()


async def code_of(waiting: Awaitable[object]) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await waiting
    return caught.value.code()


@pytest.mark.slow
@in_campaigns
@pytest.mark.parametrize("naive", ["grpc.http2.ping_timeout_ms", "grpc.http2.max_pings_without_data"])
async def test_a_quiet_stream_is_pinged_all_the_time_and_outlives_it(
    proxy: TcpProxy, channel: grpc.aio.Channel, keys: KeyStore, naive: str
) -> None:
    """Of two quiet streams, ours is the first to notice the silence; the other lacks one option."""
    other = grpc.aio.insecure_channel(proxy.address, options=[each for each in KEEPALIVE if each[0] != naive])
    await asyncio.gather(channel.channel_ready(), other.channel_ready())
    metadata = (("authorization", f"Bearer {keys.issue('offers', 'receiver')}"),)
    calls = [
        ReceiverServiceStub(channel).PushStream(),
        ReceiverServiceStub(other).PushStream(metadata=metadata),
    ]
    for call in calls:
        await call.write(BATCH)
        await call.read()
    reading = [asyncio.create_task(code_of(call.read())) for call in calls]
    done, _ = await asyncio.wait(reading, timeout=3.5 * PING_EVERY_S)
    assert not done, "the server takes the pings for an attack"
    proxy.silence_existing()
    watch = Stopwatch(f"gRPC: a quiet stream ({naive})")
    await asyncio.wait([reading[0]], timeout=RECOVERY_LIMIT_S)
    watch.stop()
    assert reading[0].result() is grpc.StatusCode.UNAVAILABLE
    assert not reading[1].done()
    reading[1].cancel()
    await asyncio.wait([reading[1]])
    await other.close()


def test_clients_of_either_version_may_ping_servers_of_either_version() -> None:
    before_s = {"client": 30, "server": 10}
    permitted_s = dict(PERMITTED_PINGS)["grpc.http2.min_ping_interval_without_data_ms"] / 1000
    assert min(PING_EVERY_S, before_s["client"]) >= 2 * permitted_s
    assert before_s["server"] < PING_EVERY_S
