"""Cluster: queries the brokers about topics (ids, partitions, ends of logs), and creates declared topics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewPartitions, NewTopic

from classifeed_common.errors import FailedPrecondition, Unavailable
from classifeed_common.kafka.records import CLIENT_CONFIG, KAFKA_UNAVAILABLE
from classifeed_common.kafka.topics.topics import Topic

K = TypeVar("K")

_REQUEST_LIMIT_S: Final = 15.0
# A last resort: the library's own timeouts end requests earlier.
_RESPONSE_LIMIT_S: Final = 45.0
_SETTLE_PAUSE_S: Final = 0.02
_LEADERS_LIMIT_S: Final = 5.0
_LEADERS_PAUSE_S: Final = 0.1
_LEADER_MOVED: Final = frozenset(
    {
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,  # a topic that was created a moment ago
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError._NOENT,  # "no leaders found", just after a start
    }
)
_BROKER_DEFAULT: Final = -1


@dataclass(frozen=True, slots=True)
class TopicState:
    """The present state of a topic at the brokers."""

    topic_id: str
    partitions: int


class Cluster:
    """Requests to the brokers, cheap enough to precede every effect (about 1 ms).

    It connects with the first request and stays connected until `close`; a later request connects again.
    """

    def __init__(self, bootstrap: str, *, client_id: str) -> None:
        self._bootstrap = bootstrap
        self._config: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
            **CLIENT_CONFIG,
        }
        self._admin: AdminClient | None = None
        self._connected_s = 0.0

    def close(self) -> None:
        """Disconnect; requests under way get their responses. Without `close`, a client stays until it is collected."""
        self._admin = None

    async def topics(self, names: Collection[str]) -> dict[str, TopicState]:
        """Return the state of the topics that exist.

        Raises:
            Unavailable: the brokers did not respond.
        """
        if not names:
            return {}
        wanted = TopicCollection(list(names))
        results = await self._request(lambda admin: admin.describe_topics(wanted, request_timeout=_REQUEST_LIMIT_S))
        found: dict[str, TopicState] = {}
        for name, result in results.items():
            if isinstance(result, KafkaException):
                if result.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise self._unavailable(result)
            else:
                found[name] = TopicState(str(result.topic_id), len(result.partitions))
        return found

    async def starts(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return the first offset in the log of each partition.

        Raises:
            Unavailable: the brokers did not respond for one of them.
        """
        return await self._offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    async def ends(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return the offset after the last record of each partition.

        Raises:
            Unavailable: the brokers did not respond for one of them.
        """
        return await self._offsets(partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    async def ensure(self, topics: Iterable[Topic]) -> None:
        """Create the missing topics. Idempotent; existing ones keep their configuration.

        Raises:
            FailedPrecondition: a topic has another number of partitions than declared.
            Unavailable: the brokers did not respond.
        """
        wanted = {topic.name: topic for topic in topics}
        if not wanted:
            return
        missing = [_new_topic(topic) for topic in wanted.values()]
        for result in (await self._request(lambda admin: admin.create_topics(missing))).values():
            if isinstance(result, KafkaException) and result.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self._unavailable(result)
        for name, state in (await self._settled(wanted)).items():
            if state.partitions != wanted[name].partitions:
                raise FailedPrecondition(
                    "TOPIC_DIFFERS",
                    f"topic {name} has {state.partitions} partitions, declared are {wanted[name].partitions}; "
                    "a change moves keys between partitions: stop its producers, let its consumers come to lag 0, "
                    f"then run migrate --grow {name} of the service that reads it",
                )

    async def grow(self, name: str, partitions: int) -> None:
        """Add partitions to a topic, and return once the brokers show them. Idempotent.

        Keys move between partitions: `TopicGrowth` checks when that is safe.

        Raises:
            Unavailable: the brokers did not respond, or refuse.
        """
        states = await self.topics([name])
        if name not in states or states[name].partitions < partitions:
            wanted = [NewPartitions(name, partitions)]
            for result in (await self._request(lambda admin: admin.create_partitions(wanted))).values():
                # Another run may have come first; its number is checked below.
                if isinstance(result, KafkaException) and result.args[0].code() != KafkaError.INVALID_PARTITIONS:
                    raise self._unavailable(result)
        deadline = time.monotonic() + _REQUEST_LIMIT_S
        while (await self.topics([name]))[name].partitions < partitions:
            if time.monotonic() > deadline:
                raise Unavailable(
                    KAFKA_UNAVAILABLE, f"topic {name} does not show its {partitions} partitions; try again"
                )
            await asyncio.sleep(_SETTLE_PAUSE_S)

    async def commits(self, topic: str, partitions: int) -> dict[str, dict[int, int]]:
        """Return the offsets that each group has committed to Kafka for a topic, by partition.

        Raises:
            Unavailable: the brokers did not respond.
        """
        listing = (await self._request(lambda admin: {"": admin.list_consumer_groups()}))[""]
        if isinstance(listing, KafkaException):
            raise self._unavailable(listing)
        found: dict[str, dict[int, int]] = {}
        for group in sorted(each.group_id for each in listing.valid):
            places = [TopicPartition(topic, at) for at in range(partitions)]
            wanted = [ConsumerGroupTopicPartitions(group, places)]
            for result in (await self._request(partial(_list_offsets, wanted))).values():
                if isinstance(result, KafkaException):
                    raise self._unavailable(result)
                offsets = {place.partition: place.offset for place in result.topic_partitions if place.offset >= 0}
                if offsets:
                    found[group] = offsets
        return found

    async def remove(self, names: Collection[str]) -> None:
        """Delete topics with all their records. Idempotent.

        Raises:
            Unavailable: the brokers did not respond.
        """
        if not names:
            return
        for result in (await self._request(lambda admin: admin.delete_topics(list(names)))).values():
            if isinstance(result, KafkaException) and result.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise self._unavailable(result)

    async def _settled(self, names: Collection[str]) -> dict[str, TopicState]:
        # A new topic appears in the brokers' metadata a moment later.
        deadline = time.monotonic() + _REQUEST_LIMIT_S
        while True:
            states = await self.topics(names)
            if len(states) == len(names):
                return states
            if time.monotonic() > deadline:
                missing = ", ".join(sorted(set(names) - set(states)))
                raise Unavailable(KAFKA_UNAVAILABLE, f"topics {missing} were created and do not show; try again")
            await asyncio.sleep(_SETTLE_PAUSE_S)

    async def _offsets(self, partitions: Iterable[tuple[str, int]], at: OffsetSpec) -> dict[tuple[str, int], int]:
        wanted = {TopicPartition(topic, partition): at for topic, partition in partitions}
        if not wanted:
            return {}
        deadline = time.monotonic() + _LEADERS_LIMIT_S
        while True:
            results = await self._request(lambda admin: admin.list_offsets(wanted, request_timeout=_REQUEST_LIMIT_S))
            faults = [result for result in results.values() if isinstance(result, KafkaException)]
            if not faults:
                return {(place.topic, place.partition): result.offset for place, result in results.items()}
            final = [fault for fault in faults if fault.args[0].code() not in _LEADER_MOVED]
            if final or time.monotonic() > deadline:
                raise self._unavailable((final or faults)[0])
            # After a broker's restart, a client keeps requesting with the epoch of the former leader.
            self.close()
            await asyncio.sleep(_LEADERS_PAUSE_S)

    async def _request(self, send: Callable[[AdminClient], Mapping[K, Future[Any]]]) -> dict[K, Any]:
        """Return the results of a request; Kafka's errors are among them.

        An AdminClient that is collected never delivers its responses. So each request holds its client until then, even
        if the client is replaced meanwhile.
        """
        admin = self._admin if self._admin is not None else self._connect()
        futures = send(admin)
        waiting = asyncio.gather(*map(asyncio.wrap_future, futures.values()), return_exceptions=True)
        try:
            async with asyncio.timeout(_RESPONSE_LIMIT_S):
                results = dict(zip(futures, await waiting, strict=True))
        except TimeoutError:
            self.close()
            raise Unavailable(
                KAFKA_UNAVAILABLE, f"Kafka at {self._bootstrap}: no response within {_RESPONSE_LIMIT_S:g} s"
            ) from None
        for result in results.values():
            if isinstance(result, BaseException) and not isinstance(result, KafkaException):
                raise result
        return results

    def _connect(self) -> AdminClient:
        self._admin = admin = AdminClient(self._config)
        self._connected_s = time.monotonic()
        return admin

    def _unavailable(self, error: KafkaException) -> Unavailable:
        if time.monotonic() - self._connected_s > _REQUEST_LIMIT_S:
            self.close()  # it may have lost its brokers for good; if they are away, a new client is no worse
        return Unavailable(KAFKA_UNAVAILABLE, f"Kafka at {self._bootstrap}: {error.args[0].str()}")


async def ensure_topics(bootstrap: str, topics: Iterable[Topic]) -> None:
    """Create the missing topics, each with its dead letter topic. Idempotent; for the migrate step.

    Args:
        bootstrap: addresses of brokers, comma separated.
        topics: declarations.

    Raises:
        FailedPrecondition: a topic has another number of partitions than declared.
        Unavailable: the brokers did not respond.
    """
    wanted = list(topics)
    letters = [topic.dead_letters for topic in wanted]
    await Cluster(bootstrap, client_id="ensure-topics").ensure([*wanted, *letters])


def _list_offsets(
    wanted: list[ConsumerGroupTopicPartitions], admin: AdminClient
) -> Mapping[str, Future[ConsumerGroupTopicPartitions]]:
    return admin.list_consumer_group_offsets(wanted)


def _new_topic(topic: Topic) -> NewTopic:
    config = {"retention.ms": str(topic.retention_ms), "cleanup.policy": "compact" if topic.compacted else "delete"}
    # The cluster's setting (default.replication.factor) decides the replication, not our topics.
    return NewTopic(topic.name, topic.partitions, _BROKER_DEFAULT, config=config)
