"""A rolling upgrade: documents in the form of fields are in registry, queue and topic at the same time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import grpc.aio
import pytest
from confluent_kafka import Consumer, TopicPartition

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.search.v1.search_service_pb2 import Hit
from classifeed_common.kafka import KafkaProducer, dlq
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_domain.document_bodies import BodyCodec
from classifeed_searcher.domain.query import Everything

from ..conftest import Build, Searcher, Upstream, make_schema

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]

OF_EACH = 20


@pytest.fixture
async def fresh_searcher(
    channels: Mapping[str, grpc.aio.Channel], kafka: EmbeddedKafka, producer: KafkaProducer, client: str, tmp_path: Path
) -> AsyncIterator[Searcher]:
    """Yield a replica that has no index yet."""
    searcher = Searcher(tmp_path / "fresh", client, channels["searcher"], kafka, producer)
    yield searcher
    await searcher.kill()


def in_fields(document: RawDocument, client: str) -> RawDocument:
    """Return a document in the old form, without a body."""
    old = RawDocument()
    old.CopyFrom(document)
    old.fields.extend(BodyCodec(make_schema(client)).fields_of(document.body))
    old.ClearField("body")
    return old


def read_topic(kafka: EmbeddedKafka, topic: str) -> Iterator[IndexDocument]:
    """Return the current records of a topic."""
    reader = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "old-forms", "enable.auto.commit": False})
    try:
        for number in reader.list_topics(topic, timeout=20).topics[topic].partitions:
            low, high = reader.get_watermark_offsets(TopicPartition(topic, number), timeout=20)
            reader.assign([TopicPartition(topic, number, low)])
            for record in reader.consume(high - low, timeout=20) if high > low else ():
                yield IndexDocument.FromString(record.value() or b"")
    finally:
        reader.close()


def hits_of(searcher: Searcher, client: str) -> dict[str, tuple[int, str]]:
    """Return version and body of each searchable document, stored in either form."""
    generation = searcher.live.generation
    assert generation is not None
    index = generation.index
    found = index.search(Everything(), [], sort_field="", descending=False, offset=0, limit=max(1, index.documents))
    codec = BodyCodec(make_schema(client))
    body: Callable[[Hit], str] = lambda hit: hit.body or codec.body_of(hit.fields)  # noqa: E731
    return {hit.pk: (hit.version, body(hit)) for hit in found.hits}


async def settle(searcher: Searcher) -> None:
    await searcher.until(lambda: searcher.is_whole)
    await searcher.settled()


@in_campaigns
async def test_documents_in_fields_are_read_from_registry_queue_and_topic(
    upstream: Upstream,
    build: Build,
    client: str,
    kafka: EmbeddedKafka,
    topic: str,
    deliver: Callable[[], Awaitable[None]],
    forget_topic: Callable[[], Awaitable[None]],
    open_searcher: Callable[[], Searcher],
    fresh_searcher: Searcher,
) -> None:
    pushed: dict[str, RawDocument] = {}

    async def push(*documents: RawDocument, is_old: bool) -> None:
        pushed.update({document.pk: document for document in documents})
        await upstream.push(*[in_fields(document, client) if is_old else document for document in documents])

    await upstream.put_schema()
    await deliver()
    await push(*[build.upsert(f"registry{n}", title=f"стул {n}") for n in range(OF_EACH)], is_old=True)
    await upstream.delivered()
    await forget_topic()
    searcher = open_searcher()
    searcher.start()
    await searcher.until(lambda: searcher.is_whole)
    await searcher.stop()
    await push(*[build.upsert(f"topic{n}", title=f"стол {n}") for n in range(OF_EACH)], is_old=True)
    await upstream.delivered()
    await upstream.stop_indexer()
    await push(*[build.upsert(f"queue{n}", title=f"диван {n}") for n in range(OF_EACH)], is_old=True)
    in_topic = list(read_topic(kafka, topic))
    assert {each.pk for each in in_topic} == {f"topic{n}" for n in range(OF_EACH)}
    assert all(each.fields and not each.body and each.client == client for each in in_topic)

    # From here on there are only new processes, and clients of both forms.
    await push(*[build.upsert(f"new{n}", title=f"шкаф {n}") for n in range(OF_EACH)], is_old=False)
    for place in ("registry", "topic", "queue"):
        await push(build.upsert(f"{place}1", 2, title="кресло"), is_old=False)
        await push(build.upsert(f"{place}2", 2, title="кресло"), is_old=True)
        await upstream.push(build.delete(f"{place}3", 2))
        del pushed[f"{place}3"]
    expected = {pk: (document.version, document.body) for pk, document in pushed.items()}
    await deliver()
    searcher = open_searcher()
    for each in (searcher, fresh_searcher):
        each.start(verifies=True)
    await upstream.delivered()
    for each in (searcher, fresh_searcher):
        await settle(each)
        assert hits_of(each, client) == expected
        await each.stop()
    assert list(read_topic(kafka, dlq(topic))) == []
