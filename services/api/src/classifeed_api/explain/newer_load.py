"""Describes the effect on an offer of a newer load whose file lacks it."""

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
from classifeed_api.explain import sentences
from classifeed_api.explain.facts import Facts
from classifeed_api.explain.held import describe_hold


class Note(NamedTuple):
    """A sentence and a suggestion; both may be empty."""

    text: str = ""
    suggestion: str = ""


_NONE: Final = Note()


def describe_newer(facts: Facts) -> Note:
    """Return the note about the newest load, if an older one is explained."""
    task = facts.newer
    if task is None or task.mode == LOAD_MODE_PATCH:
        return _NONE
    by_hand = facts.kept is not None and facts.kept.origin == OFFER_ORIGIN_MANUAL
    if task.kind == TASK_KIND_DELETE:
        lacks = sentences.NEWER_ENDS_FEED.format(load=task.task_id)
    else:
        lacks = sentences.NEWER_LACKS.format(load=task.task_id)
    if not facts.is_alive or by_hand:
        return Note(sentences.NEWER_KEEPS_BY_HAND.format(lacks=lacks) if by_hand and facts.is_alive else f"{lacks}.")
    loses = sentences.MAKES_MANUAL if task.disposition == DISPOSITION_MAKE_MANUAL else sentences.REMOVES
    if task.status == TASK_STATUS_IN_PROGRESS:
        return Note(sentences.NEWER_TO_END.format(lacks=lacks, loses=loses), sentences.NEWER_TO_END_FIX)
    if task.status == TASK_STATUS_HELD:
        return Note(
            sentences.NEWER_HELD.format(lacks=lacks, change=describe_hold(task.hold), loses=loses),
            sentences.NEWER_HELD_FIX,
        )
    if task.decision == HOLD_DECISION_REJECT:
        return Note(sentences.NEWER_REJECTED.format(lacks=lacks))
    return Note(sentences.NEWER_REMOVED_NOTHING.format(lacks=lacks))


def is_final_without_it(facts: Facts) -> bool:
    """Whether the newest load has completed without the offer, and offers service and search lack it, too."""
    task = facts.newer
    if task is None or task.status != TASK_STATUS_SUCCEEDED or facts.is_alive:
        return False
    if facts.look is not None and facts.look.has_offer is False:
        return False
    return (task.kind == TASK_KIND_DELETE or task.mode != LOAD_MODE_PATCH) and (
        facts.offer is UNKNOWN or facts.offer is None or facts.is_removed
    )
