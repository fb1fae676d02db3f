"""Permission checks of appeals: authors appeal for their own texts, and reviewers decide on those of others."""

from __future__ import annotations

from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.errors import PermissionDenied
from classifeed_common.rpc.own_names import person_name
from classifeed_moderation.domain.decisions import Subject

_SQL: Final = load_queries("classifeed_moderation.store", "appeals.sql")


async def check_author(tx: Tx, key: str, author_id: str) -> None:
    """Check that the author of a text, or the seller of its offer, appeals.

    Raises:
        PermissionDenied: APPEAL_OF_ANOTHER.
    """
    row = await (await tx.execute(_SQL["find_author"], {"subject_key": key})).fetchone()
    if row is None or row[0] != author_id:
        raise PermissionDenied(
            "APPEAL_OF_ANOTHER",
            f"{author_id} did not write the text {key}. Its author or the seller of its offer must appeal.",
        )


async def check_reviewer(tx: Tx, appeal: Any, subject: Subject, reviewer: str) -> None:
    """Check that a reviewer neither wrote a text nor decided about it before.

    Raises:
        PermissionDenied: REVIEWER_IS_AUTHOR, REVIEWER_DECIDED_BEFORE.
    """
    if person_name(appeal.author_id) == reviewer:
        raise PermissionDenied(
            "REVIEWER_IS_AUTHOR", f"{reviewer} made appeal {appeal.appeal_id}. Another reviewer must decide it."
        )
    parameters = {"subject_key": subject.key, "text_hash": subject.text_hash}
    deciders = await (await tx.execute(_SQL["list_deciders"], parameters)).fetchall()
    if reviewer in {person_name(name) for (name,) in deciders}:
        raise PermissionDenied(
            "REVIEWER_DECIDED_BEFORE",
            f"{reviewer} has decided about the text of appeal {appeal.appeal_id} before. Another reviewer must decide "
            f"it.",
        )
