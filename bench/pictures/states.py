"""Events a second through resharder and processor: unknown URLs, results of their downloads, and known URLs."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from typing import Final

from bench.kit.cpu import cpu_of_tree, medians, spent
from bench.kit.report import Report, Spread, by_name
from bench.pictures.installation import PROCESS, RELAY, RESHARD, Installation, Running
from bench.pictures.sizes import Sizes
from classifeed.pictures.v1.orders_pb2 import DownloadOrder
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed.pictures.v1.requests_pb2 import PictureRequests
from classifeed_common.clock import SystemClock
from classifeed_common.kafka import KafkaProducer, Message, message_of
from classifeed_domain.topics import PICTURES_EVENTS, PICTURES_REQUESTS
from classifeed_pictures.app.events.report_load import load_message
from classifeed_pictures.consumers import events
from classifeed_pictures.domain.urls.canonical import url_hash

_GOAL: Final = 5_000.0
_A_MESSAGE: Final = 100
_RECIPIENTS: Final = 16
_LIMIT_S: Final = 600.0
_READ: Final = 'SELECT coalesce(sum(next), 0)::bigint FROM consumer_offsets WHERE "group" = %s AND topic = %s'
_UNSENT: Final = "SELECT count(*) FROM outbox"


def measure(installation: Installation, sizes: Sizes, report: Report) -> None:
    """Measure each kind of event in each round with new URLs, and show the figures."""
    asyncio.run(_measure(installation, sizes, report))


async def _measure(installation: Installation, sizes: Sizes, report: Report) -> None:
    rates: dict[str, list[float]] = {}
    costs: dict[str, list[dict[str, float]]] = {}
    producer = KafkaProducer(installation.kafka.bootstrap, client_id="bench")
    await producer.start()
    try:
        with installation.running(RESHARD, PROCESS) as (resharder, processor):
            processes = {"resharder": resharder, "processor": processor}
            await _handle(installation, producer, processes, requests_of(["http://shop.example/warm.jpg"]), 1)
            for number in range(sizes.rounds):
                urls = [f"http://shop{n % 997}.example/{number}/{n}.jpg" for n in range(sizes.events)]
                for kind, messages in (
                    ("unknown URLs", requests_of(urls)),
                    ("results of loads", loads_of(urls)),
                    ("known URLs", requests_of(urls)),
                ):
                    seconds, cost = await _handle(installation, producer, processes, messages, sizes.events)
                    rates.setdefault(kind, []).append(sizes.events / seconds)
                    costs.setdefault(kind, []).append(cost)
    finally:
        await producer.close()
    for kind, found in rates.items():
        report.at_least(f"events/s, {kind}", Spread(found), _GOAL)
        report.show(f"  CPU µs an event, {kind}", by_name(medians(costs[kind])))
    _measure_relay(installation, report)


async def _handle(
    installation: Installation,
    producer: KafkaProducer,
    processes: dict[str, Running],
    messages: Sequence[Message],
    count: int,
) -> tuple[float, dict[str, float]]:
    """Return the seconds from sending messages to the commit of their events, and the CPU for each event."""

    def spent_s() -> dict[str, float]:
        own = {name: cpu_of_tree(each.process.pid) for name, each in processes.items()}
        return {**own, **installation.cpu()}

    with installation.connect() as connection:

        def read() -> int:
            row = connection.execute(_READ, [events.GROUP, PICTURES_EVENTS]).fetchone()
            return int(row[0]) if row is not None else 0

        end = read() + count
        before, began_s = spent_s(), time.perf_counter()
        await producer.send(messages, limit_s=_LIMIT_S)
        while read() < end:
            if time.perf_counter() > began_s + _LIMIT_S:
                raise RuntimeError(f"{end - read()} events are not handled within {_LIMIT_S:.0f} s")
            await asyncio.sleep(0.02)
        return time.perf_counter() - began_s, spent(before, spent_s(), count)


def _measure_relay(installation: Installation, report: Report) -> None:
    """Measure the relay while it sends the orders and results that are in the outbox."""
    with installation.connect() as connection:

        def unsent() -> int:
            row = connection.execute(_UNSENT).fetchone()
            return int(row[0]) if row is not None else 0

        count = unsent()
        servers, began_s = installation.cpu(), time.perf_counter()
        with installation.running(RELAY) as [relay]:
            while unsent():
                time.sleep(0.1)
            own = cpu_of_tree(relay.process.pid)
            cost = {"relay with its start": own / count * 1e6, **spent(servers, installation.cpu(), count)}
        rate = count / (time.perf_counter() - began_s)
    report.show("relay, orders and results/s, from its start", rate)
    report.show("  CPU µs each", by_name(cost))


def requests_of(urls: Sequence[str], namespace: str = "offers") -> list[Message]:
    """Return requests of pictures for a namespace."""
    messages = []
    for begin in range(0, len(urls), _A_MESSAGE):
        recipient = f"seller-{begin // _A_MESSAGE % _RECIPIENTS}"
        message = PictureRequests(recipient=recipient)
        for number, url in enumerate(urls[begin : begin + _A_MESSAGE], begin):
            request = message.requests.add(url=url, namespace=namespace, reference=f"offer-{number}")
            request.request_time.GetCurrentTime()
        messages.append(message_of(PICTURES_REQUESTS, recipient.encode(), message))
    return messages


def loads_of(urls: Sequence[str]) -> list[Message]:
    """Return results of the first orders of URLs, with stored pictures."""
    at = SystemClock().now()
    messages = []
    for url in urls:
        key = url_hash(url)
        order = DownloadOrder(url=url, url_hash=key, namespace="offers", attempt=1)
        messages.append(load_message(order, _info_of(key), at=at))
    return messages


def _info_of(key: bytes) -> PictureInfo:
    info = PictureInfo(
        namespace="offers",
        group_id=key[0],
        name=key.hex()[:24],
        width=1024,
        height=768,
        format="jpeg",
        size_bytes=100_000,
        content_hash=hashlib.sha256(key).digest(),
        perceptual_hash=key[:8],
        dominant_color=0x808080,
        blurhash="LEHV6nWB2yk8pyo0adR*.7kCMdnj",
        frames=1,
    )
    for name, width in (("small", 160), ("card", 320), ("large", 1024)):
        info.sizes.add(name=name, width=width, height=width * 3 // 4, formats=["jpeg", "webp"])
    info.store_time.GetCurrentTime()
    return info
