"""Make an appeal against the newest decision about a text."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import Database, Tx
from classifeed_common.errors import AlreadyExists, FailedPrecondition, NotFound, PermissionDenied, ResourceExhausted
from classifeed_common.rpc.call import remaining_s
from classifeed_moderation.app.appeals.describe_appeals import Appeal, describe_appeal
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.store import appeals, subjects

MOST_OPEN: Final = 100  # open appeals of an author


async def make_appeal(
    database: Database, *, key: str, author_id: str, reason: str, most_open: int = MOST_OPEN
) -> Appeal:
    """Store an appeal, and return it; a repeated request returns the same appeal.

    Args:
        database: database of the appeals.
        key: key of the text.
        author_id: author of the text, or seller of its offer.
        reason: reason that the author gives.
        most_open: maximum open appeals of an author.

    Raises:
        NotFound: there is no such text.
        PermissionDenied: APPEAL_OF_ANOTHER, the caller names neither its author nor the seller of its offer.
        FailedPrecondition: the text is not refused.
        AlreadyExists: the decision already has an appeal by another author or for another reason.
        ResourceExhausted: the author has too many open appeals.
    """
    async with database.transaction(timeout_s=remaining_s()) as tx:
        subject = await subjects.find_subject(tx, key)
        if subject is None:
            raise NotFound("TEXT_NOT_FOUND", f"There is no text with the key {key!r}. Correct the key.")
        await _check_author(tx, key, author_id)
        if subject.status is not Status.DISAPPROVED or subject.decision_id is None:
            raise FailedPrecondition(
                "TEXT_NOT_REFUSED", f"The text {key} is not refused: there is nothing to appeal against."
            )
        if await appeals.add_appeal(tx, key=key, decision_id=subject.decision_id, author_id=author_id, reason=reason):
            open_now = await appeals.count_open(tx, author_id, is_seller=subject.kind is Kind.OFFER)
            if open_now > most_open:
                raise ResourceExhausted(
                    "APPEALS_TOO_MANY",
                    f"{author_id} has {most_open} open appeals already. Wait until some of them are decided.",
                )
        row = await appeals.find_appeal(tx, decision_id=subject.decision_id)
        if (row.author_id, row.reason) != (author_id, reason):
            raise AlreadyExists(
                "APPEAL_EXISTS",
                f"Decision {row.decision_id} has appeal {row.appeal_id} already. Wait for its outcome.",
            )
        return await describe_appeal(tx, row)


async def _check_author(tx: Tx, key: str, author_id: str) -> None:
    if await appeals.find_author(tx, key) != author_id:
        raise PermissionDenied(
            "APPEAL_OF_ANOTHER",
            f"{author_id} did not write the text {key}. Its author or the seller of its offer must appeal.",
        )
