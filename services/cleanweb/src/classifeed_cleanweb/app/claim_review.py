"""Lease a text to a reviewer."""

from __future__ import annotations

from typing import NamedTuple

from classifeed_cleanweb.domain.projects import PROJECTS, Project
from classifeed_cleanweb.store import reviews
from classifeed_cleanweb.store.reviews import ClaimedReview
from classifeed_common.db import Database
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.call import remaining_s


class Claim(NamedTuple):
    """A project, and the text that the reviewer holds now; None: no text waits for the reviewer."""

    project: Project
    review: ClaimedReview | None


async def claim_review(
    database: Database, project_name: str, reviewer: str, *, lease_s: float, after: int = 0
) -> Claim:
    """Lease a text of a project to a reviewer: the text that the reviewer holds, otherwise the oldest free one.

    A reviewer holds one text per project: a claim ends their other leases there. A repeated claim returns the same text
    with a full lease. Texts that have an opinion of the reviewer are skipped.

    Args:
        database: database of the reviews.
        project_name: name of the project.
        reviewer: name in the form of `person_name`.
        lease_s: seconds after which another reviewer may get the text.
        after: number after which reviews are considered: the reviewer has given back the earlier ones.

    Raises:
        InvalidArgument: there is no such project.
    """
    project = PROJECTS.get(project_name)
    if project is None:
        what = f"must be one of {', '.join(PROJECTS)}"
        raise InvalidArgument("PROJECT_UNKNOWN", what, violations=[FieldViolation("project", what)])
    async with database.transaction(timeout_s=remaining_s()) as tx:
        return Claim(project, await reviews.claim_review(tx, project.name, reviewer, lease_s=lease_s, after=after))
