"""What a newer load, whose file does not have the offer, means for it."""

from __future__ import annotations

from typing import Final, NamedTuple

from classifeed.feeds.v1.load_pb2 import DISPOSITION_MAKE_MANUAL, LOAD_MODE_PATCH
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_REJECT
from classifeed.feeds.v1.task_pb2 import (
    TASK_KIND_DELETE,
    TASK_STATUS_HELD,
    TASK_STATUS_IN_PROGRESS,
    TASK_STATUS_SUCCEEDED,
)
from classifeed.offers.v1.offer_pb2 import OFFER_ORIGIN_MANUAL
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain.facts import Facts
from classifeed_api.explain.held import describe_hold


class Note(NamedTuple):
    """A sentence and what follows from it; both may be empty."""

    text: str = ""
    suggestion: str = ""


_NONE: Final = Note()


def describe_newer(facts: Facts) -> Note:
    """Return what is to be said of the newest load, where an older one is explained."""
    task = facts.newer
    if task is None or task.mode == LOAD_MODE_PATCH:
        return _NONE
    by_hand = facts.kept is not None and facts.kept.origin == OFFER_ORIGIN_MANUAL
    if task.kind == TASK_KIND_DELETE:
        lacks = f"Load {task.task_id} ends the feed"
    else:
        lacks = f"Load {task.task_id}, the newest, does not have it"
    if not facts.is_alive or by_hand:
        return Note(f"{lacks}; the offer is kept by hand." if by_hand and facts.is_alive else f"{lacks}.")
    loses = "keeps it by hand from then on" if task.disposition == DISPOSITION_MAKE_MANUAL else "removes the offer"
    if task.status == TASK_STATUS_IN_PROGRESS:
        return Note(
            f"{lacks} and {loses} when it ends.", "To keep the offer, put it back into the file and load it again."
        )
    if task.status == TASK_STATUS_HELD:
        return Note(
            f"{lacks} and is held, as it would {describe_hold(task.hold)}: confirmed, it {loses}.",
            "Reject that load, or load a file that has the offer, to keep it; confirm the load to let it go.",
        )
    if task.decision == HOLD_DECISION_REJECT:
        return Note(f"{lacks}; its removals were rejected, so the offer stays.")
    return Note(f"{lacks}, yet it removed nothing.")


def is_final_without_it(facts: Facts) -> bool:
    """Whether the newest load has ended without the offer, and neither owner nor search shows it."""
    task = facts.newer
    if task is None or task.status != TASK_STATUS_SUCCEEDED or facts.is_alive:
        return False
    if facts.look is not None and facts.look.has_offer is False:
        return False
    return (task.kind == TASK_KIND_DELETE or task.mode != LOAD_MODE_PATCH) and (
        facts.offer is UNKNOWN or facts.offer is None or facts.is_removed
    )
