"""Late errors, found after the results of a load: each counts once, even after the load has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from classifeed.feeds.v1.load_pb2 import (
    ISSUE_KIND_BANNED,
    ISSUE_KIND_PICTURE,
    ISSUE_LEVEL_ERROR,
    ISSUE_LEVEL_WARNING,
    OfferError,
)
from classifeed.feeds.v1.offer_results_pb2 import LateError, LateResult
from classifeed_common.kafka import KafkaProducer, message_of
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_processor.app.runs.take_results import take_results
from classifeed_processor.domain.statistics import LISTED_A_CODE, NOTED_A_TASK
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.metrics import LATE_DROPPED

from ...conftest import WriteOffer, WriteYml
from ..conftest import MakeProcessor

pytestmark = pytest.mark.kafka


def late_result(key: TaskKey, *external_ids: str, counted: str | None = "OFFER_CHANGE_ADDED") -> LateResult:
    return LateResult(
        seller_id=key.seller_id,
        namespace=key.namespace,
        task_id=key.task_id,
        errors=[
            LateError(
                error=OfferError(
                    error_id=f"late-{external_id}",
                    external_id=external_id,
                    level=ISSUE_LEVEL_ERROR,
                    kind=ISSUE_KIND_BANNED,
                    code="TEXT_FORBIDDEN",
                    excerpt="bad\0",
                ),
                counted=counted,
            )
            for external_id in external_ids
        ],
    )


def failed_pictures(key: TaskKey, *external_ids: str) -> LateResult:
    result = late_result(key, *external_ids, counted=None)
    for late in result.errors:
        error = late.error
        error.level, error.kind, error.code = ISSUE_LEVEL_WARNING, ISSUE_KIND_PICTURE, "PICTURE_NOT_FOUND"
        error.excerpt = f"https://shop.example/{error.external_id}.jpg"
    return result


async def test_late_refusal_moves_one_once_after_the_task_ended(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path, kafka: EmbeddedKafka
) -> None:
    processor = await make_processor()
    processor.start()
    content = yml(*(offer(f"a{number}", price="5") for number in range(10)))
    key = await processor.create(await processor.put(content, tmp_path))
    assert (await processor.wait_end(key)).statistics.added == 10
    producer = KafkaProducer(kafka.bootstrap, client_id="late")
    await producer.start()
    said = message_of(processor.owner.results, key.seller_id.encode(), late_result(key, "a1", "a2"))
    await producer.send([said, said])
    await producer.send([message_of(processor.owner.results, key.seller_id.encode(), late_result(key, "a2", "a3"))])
    task = await processor.wait(key, lambda task: task.statistics.rejected_moderation == 3)
    await producer.close()
    statistics = task.statistics
    assert (statistics.added, statistics.rejected_moderation, statistics.total) == (7, 3, 10)
    assert statistics.errors == 3
    async with processor.database.connection() as connection:
        rows = await (await connection.execute("SELECT external_id FROM offer_errors ORDER BY 1")).fetchall()
    assert rows == [("a1",), ("a2",), ("a3",)]
    await processor.stop()


async def test_what_counts_nothing_adds_the_error_alone(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    processor.start()
    key = await processor.create(await processor.put(yml(offer("a1", price="5")), tmp_path))
    await processor.wait_end(key)
    await processor.stop()
    result = late_result(key, "a1", counted=None)
    result.errors[0].error.excerpt = "bad"
    async with processor.database.transaction() as tx:
        await take_results(tx, processor.jobs, [result])
    statistics = (await processor.task(key)).statistics
    assert (statistics.added, statistics.rejected_moderation, statistics.errors) == (1, 0, 1)


async def test_a_picture_that_could_not_be_had_is_a_warning_and_moves_no_count(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    processor.start()
    key = await processor.create(await processor.put(yml(offer("a1", price="5")), tmp_path))
    await processor.wait_end(key)
    await processor.stop()
    for _ in range(2):
        async with processor.database.transaction() as tx:
            await take_results(tx, processor.jobs, [failed_pictures(key, "a1")])
    statistics = (await processor.task(key)).statistics
    assert (statistics.added, statistics.rejected_moderation, statistics.errors) == (1, 0, 0)
    assert statistics.warnings == 1


async def test_a_task_that_is_gone_drops_and_counts(make_processor: MakeProcessor) -> None:
    processor = await make_processor()
    before = LATE_DROPPED._value.get()
    async with processor.database.transaction() as tx:
        moved = await take_results(tx, processor.jobs, [late_result(TaskKey("nobody", "default", 5), "a1", "a2")])
    assert (moved, LATE_DROPPED._value.get() - before) == (set(), 2)


async def test_pictures_without_number_are_counted_and_few_are_kept(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    """Errors that move a count are always stored: sent twice, they move it once."""
    processor = await make_processor()
    processor.start()
    key = await processor.create(await processor.put(yml(offer("a1", price="5")), tmp_path))
    await processor.wait_end(key)
    await processor.stop()
    many = failed_pictures(key, *(f"p{number:05}" for number in range(NOTED_A_TASK - 1)))
    more = failed_pictures(key, "q1", "q2", "q3")
    refused = late_result(key, "a1")
    refused.errors[0].error.excerpt = "bad"
    for result in (many, many, more, refused, refused):
        async with processor.database.transaction() as tx:
            await take_results(tx, processor.jobs, [result])
    statistics = (await processor.task(key)).statistics
    assert (statistics.warnings, statistics.errors) == (NOTED_A_TASK + 2, 1)
    assert (statistics.added, statistics.rejected_moderation) == (0, 1)
    further = {count.code: count.further for count in statistics.issues if count.further}
    assert further == {"PICTURE_NOT_FOUND": NOTED_A_TASK + 2 - LISTED_A_CODE}
    async with processor.database.connection() as connection:
        noted = await (await connection.execute("SELECT count(*) FROM late_errors")).fetchone()
        listed = await (await connection.execute("SELECT code, count(*) FROM offer_errors GROUP BY 1")).fetchall()
    assert noted == (NOTED_A_TASK + 1,), "with the refusal, which is always noted"
    assert dict(listed) == {"PICTURE_NOT_FOUND": LISTED_A_CODE, "TEXT_FORBIDDEN": 1}
