"""Concurrent requests to the brokers, and a library that gives no response."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from classifeed_common.errors import Unavailable
from classifeed_common.kafka.topics import cluster as module
from classifeed_common.kafka.topics.cluster import Cluster


class Library:
    """The relevant behaviour of librdkafka: requests of a collected client never get a response."""

    def __init__(self) -> None:
        self.clients: WeakSet[Any] = WeakSet()
        self.faults = 0
        self.codes = [KafkaError.LEADER_NOT_AVAILABLE]
        library = self

        class Client:
            def __init__(self, _: Mapping[str, object]) -> None:
                self.waiting: list[tuple[TopicPartition, Future[Any]]] = []
                library.clients.add(self)

            def list_offsets(self, wanted: Mapping[TopicPartition, object], **_: float) -> dict[Any, Future[Any]]:
                futures: dict[Any, Future[Any]] = {place: Future() for place in wanted}
                for place, future in futures.items():
                    if place.topic == "moving" and library.faults:
                        library.faults -= 1
                        code = library.codes[place.partition % len(library.codes)]
                        future.set_exception(KafkaException(KafkaError(code)))
                    elif place.topic == "moving":
                        future.set_result(SimpleNamespace(offset=7))
                    else:
                        self.waiting.append((place, future))
                return futures

        self.client_class = Client

    def respond(self) -> None:
        """Respond to the clients that still exist."""
        gc.collect()
        for client in list(self.clients):
            for _, future in client.waiting:
                future.set_result(SimpleNamespace(offset=3))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setattr(module, "AdminClient", made.client_class)
    return made


async def test_a_request_gets_its_response_though_others_renew_the_client(library: Library) -> None:
    cluster = Cluster("127.0.0.1:1", client_id="test")
    slow = asyncio.create_task(cluster.ends([("slow", 0)]))
    await asyncio.sleep(0)
    library.faults = 3  # each makes the cluster replace its client
    assert await cluster.ends([("moving", 0)]) == {("moving", 0): 7}
    library.respond()
    async with asyncio.timeout(10):
        assert await slow == {("slow", 0): 3}


async def test_a_client_goes_with_its_cluster_not_with_the_next_collection(library: Library) -> None:
    cluster = Cluster("127.0.0.1:1", client_id="test")
    assert not library.clients  # no connection before the first request
    await cluster.ends([("moving", 0)])
    assert len(library.clients) == 1
    cluster.close()
    assert not library.clients
    assert await cluster.ends([("moving", 0)]) == {("moving", 0): 7}


async def test_no_response_at_all_is_a_fault(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RESPONSE_LIMIT_S", 0.05)
    cluster = Cluster("127.0.0.1:1", client_id="test")
    with pytest.raises(Unavailable, match="no response within"):
        async with asyncio.timeout(10):
            await cluster.ends([("slow", 0)])
    assert await cluster.ends([("moving", 0)]) == {("moving", 0): 7}


async def test_partitions_whose_leaders_are_not_known_yet_are_waited_for(library: Library) -> None:
    """Brokers return these codes for the partitions of a new topic."""
    library.codes = [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.UNKNOWN_LEADER_EPOCH]
    library.faults = 4
    places = [("moving", 0), ("moving", 1)]
    assert await Cluster("127.0.0.1:1", client_id="test").ends(places) == dict.fromkeys(places, 7)


async def test_a_fault_that_stays_is_the_one_that_is_named(library: Library) -> None:
    library.codes = [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.TOPIC_AUTHORIZATION_FAILED]
    library.faults = 2
    with pytest.raises(Unavailable, match="authorization failed"):
        await Cluster("127.0.0.1:1", client_id="test").ends([("moving", 0), ("moving", 1)])
