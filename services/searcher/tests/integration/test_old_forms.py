"""A rolling upgrade: documents in the form of fields are in registry, queue and topic at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.search.v1.search_service_pb2 import Hit
from classifeed_common.kafka import dlq
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_domain.document_bodies import BodyCodec
from classifeed_searcher.domain.query import Everything

from ..conftest import Searcher, make_delete, make_schema, make_upsert
from .conftest import Scene

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]

OF_EACH = 20


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
async def test_documents_in_fields_are_read_from_registry_queue_and_topic(scene: Scene) -> None:
    pushed: dict[str, RawDocument] = {}
    client = scene.upstream.client

    async def push(*documents: RawDocument, is_old: bool) -> None:
        pushed.update({document.pk: document for document in documents})
        await scene.upstream.push(*[in_fields(document, client) if is_old else document for document in documents])

    await scene.upstream.put_schema()
    await scene.start_indexer()
    await push(*[make_upsert(f"registry{n}", title=f"стул {n}") for n in range(OF_EACH)], is_old=True)
    await scene.upstream.delivered()
    await scene.forget_topic()
    searcher = scene.open_searcher()
    searcher.start()
    await searcher.until(lambda: searcher.is_whole)
    await searcher.stop()
    await push(*[make_upsert(f"topic{n}", title=f"стол {n}") for n in range(OF_EACH)], is_old=True)
    await scene.upstream.delivered()
    await scene.upstream.stop_indexer()
    await push(*[make_upsert(f"queue{n}", title=f"диван {n}") for n in range(OF_EACH)], is_old=True)
    in_topic = list(read_topic(scene.kafka, scene.topic))
    assert {each.pk for each in in_topic} == {f"topic{n}" for n in range(OF_EACH)}
    assert all(each.fields and not each.body and each.client == client for each in in_topic)

    # From here on there are only new processes, and clients of both forms.
    await push(*[make_upsert(f"new{n}", title=f"шкаф {n}") for n in range(OF_EACH)], is_old=False)
    for place in ("registry", "topic", "queue"):
        await push(make_upsert(f"{place}1", 2, title="кресло"), is_old=False)
        await push(make_upsert(f"{place}2", 2, title="кресло"), is_old=True)
        await scene.upstream.push(make_delete(f"{place}3", 2))
        del pushed[f"{place}3"]
    expected = {pk: (document.version, document.body) for pk, document in pushed.items()}
    await scene.start_indexer()
    searchers = scene.open_searcher(), scene.open_searcher("fresh")  # the second one has no index yet
    for each in searchers:
        each.start(verifies=True)
    await scene.upstream.delivered()
    for each in searchers:
        await settle(each)
        assert hits_of(each, client) == expected
        await each.stop()
    assert list(read_topic(scene.kafka, dlq(scene.topic))) == []
