"""The events that the resharder makes of requests, notices and results, and its refusals."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.pictures.v1.events_pb2 import DELETE_REASON_UNUSED, DeletePicture, LookAgain
from classifeed.pictures.v1.orders_pb2 import LoadResult
from classifeed.pictures.v1.requests_pb2 import PictureNotice, PictureNotices, PictureRequest, PictureRequests
from classifeed.pictures.v1.requests_pb2 import PictureResults as Results
from classifeed_common.errors import Unavailable
from classifeed_common.kafka import Message, TablePositions, dlq, message_of
from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.recovery import until
from classifeed_pictures.domain.urls.canonical import CanonicalRules, url_hash

from ..samples import growth
from .conftest import Keys, once, read_all, repeated

pytestmark = pytest.mark.kafka
URL = "http://example.com/a"


async def letters(keys: Keys, topic: str) -> list[tuple[int, str]]:
    """Return offset and reason of each dead letter."""
    found = await asyncio.to_thread(read_all, keys.bootstrap, dlq(topic))
    headers = [dict(message.headers()) for message in found]
    return [(int(each["dlq-offset"]), each["dlq-reason"].decode()) for each in headers]


async def test_each_item_is_an_event_under_the_key_of_its_url(keys: Keys) -> None:
    asked, told, loaded = (Timestamp(seconds=seconds, nanos=5) for seconds in (100, 200, 300))
    request = PictureRequest(url="HTTP://Example.com/a#b", namespace="offers", reference="x", request_time=asked)
    untimed = PictureRequest(url=URL, namespace="offers")
    await keys.send(
        message_of(keys.requests, b"shop", PictureRequests(recipient="shop", requests=[request, untimed]), partition=1),
        message_of(
            keys.requests,
            b"any",
            PictureNotices(
                notices=[
                    PictureNotice(url=f"{URL}?utm_source=b", notice_time=told, look_again=LookAgain(force=True)),
                    PictureNotice(url=URL, notice_time=told, delete_picture=DeletePicture(reason=DELETE_REASON_UNUSED)),
                ]
            ),
            partition=2,
        ),
        keys.load(URL, attempt=7),
    )
    result = LoadResult(url=URL, url_hash=url_hash(URL), namespace="n", load_time=loaded)
    result.info.name = "b"
    await keys.send(message_of(keys.loads, result.url_hash, result))
    await keys.reshard()
    shown = await keys.shown()
    assert len(shown) == 6
    assert {each.event.url for each in shown} == {URL}
    assert len({each.partition for each in shown}) == 1, "one URL has one shard, wherever its events come from"
    found = {(each.event.source.name, each.event.source.partition): each.event.source.position for each in shown}
    [loads_partition] = [partition for name, partition in found if name == keys.loads]
    assert found == {(keys.requests, 1): 0, (keys.requests, 2): 0, (keys.loads, loads_partition): 1}
    first, second = (each.event for each in shown if each.event.HasField("requested"))
    assert (first.event_time, first.requested.requested_url) == (asked, request.url)
    assert (first.requested.recipient, first.requested.namespace, first.requested.reference) == ("shop", "offers", "x")
    assert second.event_time.seconds > 1_700_000_000, "without a time of its own it has the record's"
    assert second.requested.requested_url == ""
    look, delete = (each.event for each in shown if each.event.source.partition == 2)
    assert (look.look_again.force, delete.delete_picture.reason) == (True, DELETE_REASON_UNUSED)
    assert look.event_time == delete.event_time == told
    loads = [each.event for each in shown if each.event.HasField("loaded")]
    assert [event.loaded.attempt for event in loads] == [7, 0]
    assert (loads[1].loaded, loads[1].event_time) == (result, loaded)


async def test_a_result_stays_under_the_key_that_was_ordered(keys: Keys) -> None:
    """The rules have changed since the order."""
    url = "http://www.example.com/a?id=1"
    await keys.send(keys.load(url), keys.request(url))
    keys.rules = CanonicalRules.of({"strip_fragment": True, "strip_www": True, "tracking_parameters": ["id"]})
    await keys.reshard()
    found = {each.event.WhichOneof("event"): each.event.url for each in await keys.shown()}
    assert found == {"loaded": url, "requested": URL}


BAD = [
    ("", "URL_INVALID", "missing"),
    ("http://example.com/\0", "URL_INVALID", "NUL"),
    ("http://example.com/" + "a" * 4096, "URL_INVALID", "4115 characters"),
    ("http://example.com/" + "к" * 1000, "URL_INVALID", "6019 characters when encoded"),
]


async def test_a_request_that_cannot_be_used_is_answered_and_the_others_go_on(keys: Keys) -> None:
    requests = [PictureRequest(url=url, namespace="offers", reference=str(at)) for at, (url, _, _) in enumerate(BAD)]
    requests += [
        PictureRequest(url=URL, namespace="Of/fers", reference="4"),
        PictureRequest(url=URL, namespace="offers", reference="5" * 1025),
        PictureRequest(url=URL, namespace="offers", request_time=Timestamp(nanos=-1)),
        PictureRequest(url="shops/1/key", namespace="offers", reference="good"),
        PictureRequest(url="x" * 999_390, namespace="offers", reference="too large to be answered"),
    ]
    good = PictureRequest(url=URL, namespace="offers", reference="good")
    bodies = [requests[:5], [good, *requests[5:8]], requests[8:], [good]]
    await keys.send(
        *(
            Message(keys.requests, b"shop", body.SerializeToString(), {"type": body.DESCRIPTOR.full_name.encode()}, 0)
            for body in (PictureRequests(recipient="shop", requests=each) for each in bodies)
        )
    )
    grown = [growth("refused_items_total", outcome=outcome) for outcome in ("result_sent", "dead_letter")]
    await keys.reshard()
    assert [grew() for grew in grown] == [7, 1]
    assert sorted(each.event.url for each in await keys.shown()) == [URL, URL, "shops/1/key"]
    messages = await asyncio.to_thread(read_all, keys.bootstrap, keys.results)
    assert {message.key() for message in messages} == {b"shop"}
    found = [Results.FromString(message.value()) for message in messages]
    assert {each.recipient for each in found} == {"shop"}
    results = [result for each in found for result in each.results]
    assert [(each.url, each.namespace, each.reference) for each in results] == [
        (each.url, each.namespace, each.reference) for each in requests[:7]
    ]
    for result, (_, code, words) in zip(results, BAD, strict=False):
        assert result.failure.code == code
        assert words in result.failure.message
    assert {result.failure.code for result in results[4:]} == {"PICTURE_REQUEST_INVALID"}
    [(offset, reason)] = await letters(keys, keys.requests)
    assert offset == 2
    assert "requests[0]: The URL has 999390 characters" in reason


async def test_a_notice_that_cannot_be_used_goes_to_dead_letters_and_the_others_go_on(keys: Keys) -> None:
    await keys.send(
        keys.notice(
            PictureNotice(url="", look_again=LookAgain()),
            PictureNotice(url=URL, look_again=LookAgain()),
            PictureNotice(url=URL),
            PictureNotice(url=URL, delete_picture=DeletePicture(namespace="\0")),
            PictureNotice(url=URL, look_again=LookAgain(), notice_time=Timestamp(seconds=1 << 40)),
        )
    )
    await keys.reshard()
    [shown] = await keys.shown()
    assert shown.event.HasField("look_again")
    [(_, reason)] = await letters(keys, keys.requests)
    assert re.findall(r"notices\[(\d)\]: ", reason) == ["0", "2", "3", "4"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda keys: Message(keys.requests, b"a", b"", {}), "of no type"),
        (lambda keys: message_of(keys.requests, b"a", PictureRequest(url=URL)), "but classifeed.pictures"),
        (
            lambda keys: Message(keys.requests, b"a", b"\xff", {"type": b"classifeed.pictures.v1.PictureRequests"}),
            "cannot be read as",
        ),
        (lambda keys: message_of(keys.requests, b"b", PictureRequests(recipient="a")), "not the key"),
        (lambda keys: message_of(keys.requests, b"", PictureRequests()), "recipient must have 1 to 128"),
        (lambda keys: message_of(keys.requests, b"\0", PictureRequests(recipient="\0")), "none of them NUL"),
        (lambda keys: keys.request(*[URL] * 101), "more than 100"),
        (lambda keys: keys.notice(*[PictureNotice(url=URL)] * 101), "more than 100"),
        (lambda keys: keys.load(URL, url_hash=b"1" * 16), "as in the order"),
        (lambda keys: keys.load(URL, url=URL + "b"), "as in the order"),
        (lambda keys: keys.load("a\0"), "none of them NUL"),
        (lambda keys: keys.load("a" * 4097), "4096"),
        (
            lambda keys: message_of(keys.loads, url_hash(URL), LoadResult(url=URL, url_hash=url_hash(URL))),
            "none of info, failure and unchanged",
        ),
        (lambda keys: message_of(keys.loads, b"", LoadResult.FromString(keys.load(URL).value)), "not the key"),
        (lambda keys: keys.load(URL, namespace="n" * 999_350), "its event has"),
    ],
)
async def test_a_record_that_breaks_the_protocol_goes_to_dead_letters(keys: Keys, fault: Any, words: str) -> None:
    message = fault(keys)
    await keys.send(replace(message, partition=0), keys.request("http://example.com/good", partition=0))
    await keys.reshard()
    assert [each.event.url for each in await keys.shown()] == ["http://example.com/good"]
    [(_, reason)] = await letters(keys, message.topic)
    assert words in reason


class FailingProducer:
    """Sends the first half of its messages and fails, a number of times."""

    def __init__(self, producer: Any, times: int) -> None:
        self.producer = producer
        self.times = times

    async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
        if not self.times:
            await self.producer.send(messages, limit_s=limit_s)
            return
        self.times -= 1
        await self.producer.send(messages[: len(messages) // 2], limit_s=limit_s)
        raise Unavailable("KAFKA_UNAVAILABLE", "half of it was sent")


async def test_a_failed_send_is_repeated_as_a_whole(keys: Keys) -> None:
    urls = [f"http://example.com/{number}" for number in range(40)]
    await keys.send(keys.request(*urls))
    await keys.reshard(producer=FailingProducer(keys.producer, 2))
    shown = await keys.shown()
    assert sorted(each.event.url for each in once(shown)) == sorted(urls)
    assert repeated(shown) == 40


class FailingPositions(TablePositions):
    """Fails after the handler and before the commit, a number of times."""

    times = 2

    @asynccontextmanager
    async def effect(self, expected: Any, new: Any) -> Any:
        async with super().effect(expected, new) as tx:
            yield tx
            if self.times:
                self.times -= 1
                raise Unavailable("POSTGRES_UNAVAILABLE", "the commit failed")


async def test_events_whose_positions_did_not_move_are_sent_again(keys: Keys) -> None:
    await keys.send(keys.request(URL), keys.load(URL))
    await keys.reshard(positions=FailingPositions(keys.database))
    shown = await keys.shown()
    assert len(once(shown)) == 2
    assert repeated(shown) >= 2


class GatedProducer:
    """Sends, signals it, and never returns."""

    def __init__(self, producer: Any) -> None:
        self.producer = producer
        self.sent = asyncio.Event()

    async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
        await self.producer.send(messages, limit_s=limit_s)
        self.sent.set()
        await asyncio.Event().wait()


async def test_cancelled_between_send_and_position(keys: Keys) -> None:
    urls = [f"http://example.com/{number}" for number in range(10)]
    await keys.send(keys.request(*urls))
    gated = GatedProducer(keys.producer)
    running = asyncio.create_task(keys.resharder(producer=gated).run(asyncio.Event()))
    await gated.sent.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await keys.reshard()
    shown = await keys.shown()
    assert sorted(each.event.url for each in once(shown)) == sorted(urls)
    assert repeated(shown) == 10


async def test_events_of_one_url_keep_the_order_of_their_partition(keys: Keys) -> None:
    """Requests of one recipient, notices and results for few URLs, in polls of a few records."""
    urls = [f"http://example.com/{number}" for number in range(5)]
    await keys.send(
        *(
            keys.request(*[urls[(number + at) % 5] for at in range(7)], recipient=f"r{number % 6}", first=number * 100)
            for number in range(60)
        ),
        *(keys.load(urls[number % 5], attempt=number) for number in range(60)),
    )
    await keys.reshard(max_records=7, producer=FailingProducer(keys.producer, 3))
    shown = await keys.shown()
    found = once(shown)
    assert len(found) == 60 * 7 + 60
    for url in urls:
        places: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for each in found:
            if each.event.url == url:
                source = each.event.source
                number = int(each.event.requested.reference or 0)
                places.setdefault((source.name, source.partition), []).append((source.position, number))
        assert len(places) > 1
        for order in places.values():
            assert order == sorted(order)


async def test_two_resharders_share_the_work(keys: Keys) -> None:
    first, second = keys.resharder(), keys.resharder()
    async with running(first), running(second):
        for number in range(8):
            await keys.send(keys.request(f"http://example.com/{number}", recipient=f"r{number}", partition=number % 4))
        await keys.is_resharded(first)

        async def is_whole() -> bool:
            return len(once(await keys.shown())) == 8

        await until(is_whole)
