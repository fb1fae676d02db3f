"""Steps of an explanation, and parts of their sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.feeds.v1 import explanation_pb2
from classifeed.feeds.v1.explanation_pb2 import ExplanationStage, ExplanationState, ExplanationStep
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.offers.v1.offer_pb2 import OFFER_CHANGE_MADE_MANUAL
from classifeed.search.v1.search_service_pb2 import Hit
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain import sentences
from classifeed_api.explain.facts import Facts

DONE: Final = explanation_pb2.EXPLANATION_STATE_DONE
WARNING: Final = explanation_pb2.EXPLANATION_STATE_WARNING
STOPPED: Final = explanation_pb2.EXPLANATION_STATE_STOPPED
WAITING: Final = explanation_pb2.EXPLANATION_STATE_WAITING
SKIPPED: Final = explanation_pb2.EXPLANATION_STATE_SKIPPED
UNASKED: Final = explanation_pb2.EXPLANATION_STATE_UNKNOWN

_NAMED_LINES: Final = 5


def step(
    stage: ExplanationStage,
    state: ExplanationState,
    text: str,
    *,
    time: Timestamp | None = None,
    suggestion: str = "",
    code: str = "",
    line: int = 0,
    column: int = 0,
    excerpt: str = "",
) -> ExplanationStep:
    """Return a step; a time that was never set is left out."""
    known = time if time is not None and is_set(time) else None
    return ExplanationStep(
        stage=stage,
        state=state,
        text=text,
        time=known,
        suggestion=suggestion,
        code=code,
        line=line,
        column=column,
        excerpt=excerpt,
    )


def is_set(time: Timestamp) -> bool:
    """Whether a time was set: an unset one reads as the beginning of 1970."""
    return bool(time.seconds or time.nanos)


def stamp(moment: datetime) -> Timestamp:
    """Return a time as a protobuf Timestamp."""
    made = Timestamp()
    made.FromDatetime(moment)
    return made


def stamp_of_version(version: int) -> Timestamp:
    """Return an offer's version, microseconds since 1970, as a Timestamp."""
    made = Timestamp()
    made.FromMicroseconds(version)
    return made


def when(time: Timestamp) -> str:
    """Return a time as text."""
    return f"{time.ToDatetime(tzinfo=UTC):%Y-%m-%d %H:%M:%S} UTC"


def lines_of(lines: Sequence[int]) -> str:
    """Return “line 6” or “lines 6, 9, 12 and 4 more”."""
    named = ", ".join(map(str, lines[:_NAMED_LINES]))
    more = f" and {len(lines) - _NAMED_LINES} more" if len(lines) > _NAMED_LINES else ""
    return f"line {named}" if len(lines) == 1 else f"lines {named}{more}"


def loads_of(numbers: Sequence[int]) -> str:
    """Return “load 7” or “loads 7, 6”."""
    return f"load {numbers[0]}" if len(numbers) == 1 else f"loads {', '.join(map(str, numbers))}"


def found_state(facts: Facts) -> str:
    """Return the state of the offer in the search, in words that fit after “it finds”; empty if there is none."""
    hit, offer = facts.found, facts.kept
    if hit is None:
        return ""
    by_load = offer is not None and offer.last_task_id and offer.last_change != OFFER_CHANGE_MADE_MANUAL
    if offer is not None and by_load and offer.version == hit.version:
        return f"the state of load {offer.last_task_id}"
    return f"the state of {when(stamp_of_version(hit.version))}"


def found_since(hit: Hit) -> str:
    """Return “, since …” if the index recorded the time."""
    return f", since {when(hit.index_time)}" if hit.HasField("index_time") else ""


def issues_of(facts: Facts) -> Sequence[OfferError]:
    """Return the issues that the load lists for the offer; none if they are unknown."""
    return [] if facts.look is None or facts.look.issues is UNKNOWN else facts.look.issues


def unasked(stage: ExplanationStage) -> ExplanationStep:
    """Return the step of a stage that is unknown because the list of offers could not be read."""
    return step(stage, UNASKED, sentences.OFFERS_UNKNOWN)
