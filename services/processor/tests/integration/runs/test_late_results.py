"""Late errors, found after the results of a load: each counts once, even after the load has ended."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1.load_pb2 import (
    ISSUE_KIND_BANNED,
    ISSUE_KIND_PICTURE,
    ISSUE_LEVEL_ERROR,
    ISSUE_LEVEL_WARNING,
    OfferError,
)
from classifeed.feeds.v1.offer_results_pb2 import LateError, LateResult
from classifeed_common.kafka import message_of
from classifeed_processor.domain.statistics import LISTED_A_CODE, NOTED_A_TASK
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.metrics import LATE_DROPPED

from ..conftest import Scene

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


async def load_one(scene: Scene) -> TaskKey:
    """Load offer a1, and stop the processor."""
    scene.start()
    key = await scene.upload(scene.offer("a1", price="5"))
    await scene.wait_end(key)
    await scene.stop()
    return key


async def test_late_refusal_moves_one_once_after_the_task_ended(scene: Scene) -> None:
    scene.start()
    key = await scene.upload(*(scene.offer(f"a{number}", price="5") for number in range(10)))
    assert (await scene.wait_end(key)).statistics.added == 10
    said = message_of(scene.owner.results, key.seller_id.encode(), late_result(key, "a1", "a2"))
    await scene.parts.sender.send([said, said])
    more = message_of(scene.owner.results, key.seller_id.encode(), late_result(key, "a2", "a3"))
    await scene.parts.sender.send([more])
    task = await scene.wait(key, lambda task: task.statistics.rejected_moderation == 3)
    statistics = task.statistics
    assert (statistics.added, statistics.rejected_moderation, statistics.total) == (7, 3, 10)
    assert statistics.errors == 3
    rows = await scene.sql("SELECT external_id FROM offer_errors ORDER BY 1")
    assert rows == [("a1",), ("a2",), ("a3",)]
    await scene.stop()


async def test_what_counts_nothing_adds_the_error_alone(scene: Scene) -> None:
    key = await load_one(scene)
    result = late_result(key, "a1", counted=None)
    result.errors[0].error.excerpt = "bad"
    await scene.take(result)
    statistics = (await scene.task(key)).statistics
    assert (statistics.added, statistics.rejected_moderation, statistics.errors) == (1, 0, 1)


async def test_a_picture_that_could_not_be_had_is_a_warning_and_moves_no_count(scene: Scene) -> None:
    key = await load_one(scene)
    for _ in range(2):
        await scene.take(failed_pictures(key, "a1"))
    statistics = (await scene.task(key)).statistics
    assert (statistics.added, statistics.rejected_moderation, statistics.errors) == (1, 0, 0)
    assert statistics.warnings == 1


async def test_a_task_that_is_gone_drops_and_counts(scene: Scene) -> None:
    before = LATE_DROPPED._value.get()
    moved = await scene.take(late_result(TaskKey("nobody", "default", 5), "a1", "a2"))
    assert (moved, LATE_DROPPED._value.get() - before) == (set(), 2)


async def test_pictures_without_number_are_counted_and_few_are_kept(scene: Scene) -> None:
    """Errors that move a count are always stored: sent twice, they move it once."""
    key = await load_one(scene)
    many = failed_pictures(key, *(f"p{number:05}" for number in range(NOTED_A_TASK - 1)))
    more = failed_pictures(key, "q1", "q2", "q3")
    refused = late_result(key, "a1")
    refused.errors[0].error.excerpt = "bad"
    for result in (many, many, more, refused, refused):
        await scene.take(result)
    statistics = (await scene.task(key)).statistics
    assert (statistics.warnings, statistics.errors) == (NOTED_A_TASK + 2, 1)
    assert (statistics.added, statistics.rejected_moderation) == (0, 1)
    further = {count.code: count.further for count in statistics.issues if count.further}
    assert further == {"PICTURE_NOT_FOUND": NOTED_A_TASK + 2 - LISTED_A_CODE}
    noted = await scene.sql("SELECT count(*) FROM late_errors")
    listed = await scene.sql("SELECT code, count(*) FROM offer_errors GROUP BY 1")
    assert noted == [(NOTED_A_TASK + 1,)], "with the refusal, which is always noted"
    assert dict(listed) == {"PICTURE_NOT_FOUND": LISTED_A_CODE, "TEXT_FORBIDDEN": 1}
