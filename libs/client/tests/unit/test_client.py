"""The synchronous client: tokens, error messages, and waits that survive a restart of the service."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import grpc
import grpc_testing
import pytest
from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from classifeed.feeds.v1 import feed_service_pb2
from classifeed.offers.v1 import offer_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_client import Addresses, ApiError, Client, DeadlineExceeded, Refused, Unreachable

FEEDS = feed_service_pb2.DESCRIPTOR.services_by_name["FeedService"]
OFFERS = offer_service_pb2.DESCRIPTOR.services_by_name["OfferService"]
SEARCH = search_service_pb2.DESCRIPTOR.services_by_name["SearchService"]
UPLOAD = feed_service_pb2.Upload(name="uploads/1")


@pytest.fixture
def channel() -> grpc_testing.Channel:
    return grpc_testing.channel((FEEDS, OFFERS, SEARCH), grpc_testing.strict_real_time())


@pytest.fixture
def client(channel: grpc_testing.Channel) -> Iterator[Client]:
    tokens = iter(f"t{number}" for number in range(100))
    with Client(Addresses("a", "o", "s"), lambda: next(tokens), connect=lambda _: channel) as made:
        yield made


@pytest.fixture
def caller() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def refuse(
    channel: grpc_testing.Channel, method: object, code: grpc.StatusCode, details: str, *parts: Message
) -> dict[str, str]:
    """Respond to the next call of a method with a status, with google.rpc details where there are any; its metadata."""
    metadata, _, rpc = channel.take_unary_unary(method)
    trailing = []
    if parts:
        status = status_pb2.Status(code=code.value[0], message=details)
        for part in parts:
            packed = any_pb2.Any()
            packed.Pack(part)
            status.details.append(packed)
        trailing = [("grpc-status-details-bin", status.SerializeToString())]
    rpc.send_initial_metadata(())
    rpc.terminate(None, trailing, code, details)
    return dict(metadata)


def error_of(future: Future[Any]) -> ApiError:
    error = future.exception(timeout=90)
    assert isinstance(error, ApiError)
    return error


def test_refusal_carries_reason_field_and_words_once(
    client: Client, channel: grpc_testing.Channel, caller: ThreadPoolExecutor
) -> None:
    call = caller.submit(client.get_offer, "x")
    sent = refuse(
        channel,
        OFFERS.methods_by_name["GetOffer"],
        grpc.StatusCode.INVALID_ARGUMENT,
        "name: must name an offer.",
        error_details_pb2.ErrorInfo(reason="REQUEST_INVALID", metadata={"field": "name"}),
        error_details_pb2.BadRequest(
            field_violations=[
                {"field": "name", "description": "must name an offer"},
                {"field": "other", "description": "must be there"},
            ]
        ),
    )
    error = error_of(call)
    assert isinstance(error, Refused)
    assert (error.reason, error.metadata) == ("REQUEST_INVALID", {"field": "name"})
    assert str(error) == "name: must name an offer. [other: must be there]"
    assert sent["authorization"] == "Bearer t0"


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (grpc.StatusCode.UNAVAILABLE, Unreachable, "offers at o does not respond."),
        (grpc.StatusCode.DEADLINE_EXCEEDED, DeadlineExceeded, "offers at o did not respond in time."),
        (grpc.StatusCode.NOT_FOUND, Refused, "too late"),
    ],
)
def test_status_without_details_has_its_kind(
    client: Client,
    channel: grpc_testing.Channel,
    caller: ThreadPoolExecutor,
    code: grpc.StatusCode,
    kind: type[ApiError],
    words: str,
) -> None:
    call = caller.submit(client.get_offer, "x")
    refuse(channel, OFFERS.methods_by_name["GetOffer"], code, "too late")
    error = error_of(call)
    assert type(error) is kind
    assert words in str(error)
    assert (error.metadata == {"service": "offers", "address": "o"}) == (kind is not Refused)


def test_what_a_service_says_of_itself_names_it_and_what_it_says_of_another_names_that(
    client: Client, channel: grpc_testing.Channel, caller: ThreadPoolExecutor
) -> None:
    method = OFFERS.methods_by_name["GetOffer"]
    for metadata, named in (({}, {"service": "offers", "address": "o"}), ({"service": "x", "address": "y"},) * 2):
        call = caller.submit(client.get_offer, "x")
        info = error_details_pb2.ErrorInfo(reason="AWAY", metadata=metadata)
        refuse(channel, method, grpc.StatusCode.UNAVAILABLE, "My database does not answer.", info)
        error = error_of(call)
        assert (str(error), error.metadata) == ("offers at o says: My database does not answer.", named)


def test_wait_for_a_task_outlives_a_restart(
    client: Client, channel: grpc_testing.Channel, caller: ThreadPoolExecutor
) -> None:
    call = caller.submit(client.wait_for_task_name, UPLOAD, timeout_s=120)
    method = FEEDS.methods_by_name["GetUpload"]
    first = refuse(channel, method, grpc.StatusCode.UNAVAILABLE, "connection refused")
    metadata, request, rpc = channel.take_unary_unary(method)
    rpc.send_initial_metadata(())
    rpc.terminate(feed_service_pb2.Upload(name=request.name, task="tasks/7"), (), grpc.StatusCode.OK, "")
    assert call.result(timeout=90) == "tasks/7"
    assert dict(metadata)["authorization"] != first["authorization"], "the token is asked for each call"


def test_wait_ends_with_words_when_no_task_comes(client: Client) -> None:
    with pytest.raises(DeadlineExceeded) as caught:
        client.wait_for_task_name(feed_service_pb2.Upload(name="uploads/1", task=""), timeout_s=-1)
    assert caught.value.reason == "TASK_NOT_MADE"
