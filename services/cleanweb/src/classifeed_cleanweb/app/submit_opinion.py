"""Opinions about a text: agreement ends a review, and the last review of a text sends its verdicts to every key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeAlias

from classifeed_cleanweb.domain.projects import PROJECTS, agree
from classifeed_cleanweb.metrics import COST, OPINIONS, REVIEWED
from classifeed_cleanweb.store import callbacks, reviews
from classifeed_cleanweb.store.reviews import Opinion
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FailedPrecondition, FieldViolation, InvalidArgument, NotFound
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.own_names import person_name

EnqueueCallback: TypeAlias = Callable[[Tx, int, str, str, str], Awaitable[None]]


async def submit_opinion(
    database: Database,
    enqueue: EnqueueCallback,
    *,
    review_id: int,
    reviewer: str,
    verdicts: Collection[str],
    cost: float,
) -> bool:
    """Store an opinion of the current or last holder of the text; return whether the review has ended.

    A second opinion of a reviewer on a review changes nothing.

    Args:
        database: database of the reviews.
        enqueue: enqueues the delivery of a callback in the transaction that ends the review. Its arguments are the
            number, service, environment and key of the callback.
        review_id: number of the review.
        reviewer: name in the form of `person_name`.
        verdicts: chosen verdicts; empty: nothing is wrong with the text.
        cost: cost of an opinion.

    Raises:
        NotFound: there is no such review.
        InvalidArgument: the project does not have one of the verdicts.
        FailedPrecondition: the reviewer did not claim the text, or another reviewer has claimed it since.
    """
    async with database.transaction(timeout_s=remaining_s()) as tx:
        has_text = await reviews.lock_text_of(tx, review_id)
        review = await reviews.lock_review(tx, review_id) if has_text else None
        if review is None:
            raise NotFound("REVIEW_NOT_FOUND", f"There is no review {review_id}. Claim one first.")
        if review.ended_at is not None:
            return True
        if unknown := set(verdicts) - set(PROJECTS[review.project].choices):
            what = f"{', '.join(sorted(unknown))} is not a verdict of {review.project}"
            raise InvalidArgument("VERDICT_UNKNOWN", what, violations=[FieldViolation("verdicts", what)])
        opinions = await reviews.list_opinions(tx, review_id)
        if any(person_name(opinion.reviewer) == reviewer for opinion in opinions):
            return False
        _check_lease(review, reviewer)
        opinion = Opinion(reviewer, frozenset(verdicts))
        await reviews.add_opinion(tx, review_id, opinion)
        agreed = agree([each.verdicts for each in (*opinions, opinion)])
        if agreed is not None:
            await _end_review(tx, enqueue, review_id, review.request_id, agreed)
    OPINIONS.labels(review.project).inc()
    COST.labels(review.project).inc(cost)
    if agreed is not None:
        REVIEWED.labels(review.project).inc()
    return agreed is not None


def _check_lease(review: Any, reviewer: str) -> None:
    """Check that a reviewer holds a review, or held it last: knowing the number of a review is not enough."""
    if review.leased_by is not None and person_name(review.leased_by) == reviewer:
        return
    if review.is_leased:
        raise FailedPrecondition(
            "REVIEW_LEASED", f"Another reviewer holds review {review.review_id} now. Claim another one."
        )
    raise FailedPrecondition(
        "REVIEW_NOT_CLAIMED",
        f"{reviewer} does not hold review {review.review_id}: it was never claimed, given back, or claimed by another "
        f"reviewer since. Claim a review first.",
    )


async def _end_review(
    tx: Tx, enqueue: EnqueueCallback, review_id: int, request_id: int, agreed: Collection[str]
) -> None:
    request = await reviews.lock_request(tx, request_id)
    await reviews.end_review(tx, review_id, agreed)
    reviewed = await reviews.find_reviewed(tx, request_id)
    if reviewed is not None:
        for addressee in await reviews.end_requests(tx, request.cache_key, reviewed):
            callback_id = await callbacks.add_callback(tx, *addressee, reviewed)
            await enqueue(tx, callback_id, *addressee)
