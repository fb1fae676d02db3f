"""The explanation of an offer: a summary, and a step for each stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed.feeds.v1 import explanation_pb2 as stages
from classifeed.feeds.v1.explanation_pb2 import (
    OFFER_FATE_BANNED,
    OFFER_FATE_LOAD_FAILED,
    OFFER_FATE_NEVER_SEEN,
    OFFER_FATE_ON_ITS_WAY,
    OFFER_FATE_REJECTED,
    OFFER_FATE_REMOVED,
    OFFER_FATE_SEARCHABLE,
    ExplanationStep,
    OfferExplanation,
    OfferFate,
)
from classifeed.feeds.v1.task_pb2 import TASK_STATUS_FAILED
from classifeed.offers.v1.offer_pb2 import OFFER_STATUS_BANNED
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain import sentences
from classifeed_api.explain.facts import Facts
from classifeed_api.explain.newer_load import describe_newer, is_final_without_it
from classifeed_api.explain.source import describe_failing
from classifeed_api.explain.steps import (
    DONE,
    STOPPED,
    WAITING,
    WARNING,
    found_since,
    found_state,
    lines_of,
)
from classifeed_api.explain.timeline import describe_stages

# The stages around these describe better what they wait for.
_FOLLOWERS: Final = frozenset({stages.EXPLANATION_STAGE_OFFER, stages.EXPLANATION_STAGE_CHECKS})
_OUTCOME_WHERE_STOPPED: Final = {
    stages.EXPLANATION_STAGE_SOURCE: OFFER_FATE_NEVER_SEEN,
    stages.EXPLANATION_STAGE_CHECKS: OFFER_FATE_REJECTED,
    stages.EXPLANATION_STAGE_MODERATION: OFFER_FATE_BANNED,
}


def explain(facts: Facts) -> OfferExplanation:
    """Return the explanation of an offer; every combination of facts gets a summary and all stages."""
    steps = describe_stages(facts)
    outcome = _outcome_of(facts, steps)
    newer = describe_newer(facts)
    look = facts.look
    duplicates = look.duplicate_lines if look is not None else []
    parts = [
        _sentence(facts, outcome, steps).rstrip(),
        sentences.DUPLICATES_NOT_READ.format(lines=lines_of(duplicates)) if duplicates else "",
        newer.text,
        describe_failing(facts),
        _unasked(facts),
    ]
    return OfferExplanation(
        name=str(facts.name),
        fate=outcome,
        summary=" ".join(filter(None, parts)),
        suggestion=_suggestion(steps, bool(duplicates)) or newer.suggestion or steps[0].suggestion,
        steps=steps,
        task=look.task.name if look is not None else "",
        duplicate_lines=duplicates,
    )


def _outcome_of(facts: Facts, steps: Sequence[ExplanationStep]) -> OfferFate:
    if facts.look is not None and facts.look.task.status == TASK_STATUS_FAILED:
        return OFFER_FATE_LOAD_FAILED
    stopped = _stopped(steps)
    if stopped is None:
        if steps[-1].state in {DONE, WARNING}:
            return OFFER_FATE_SEARCHABLE
        return OFFER_FATE_REMOVED if is_final_without_it(facts) else OFFER_FATE_ON_ITS_WAY
    outcome = _OUTCOME_WHERE_STOPPED.get(stopped.stage)
    if outcome is not None:
        return outcome
    if facts.is_removed or is_final_without_it(facts):
        return OFFER_FATE_REMOVED
    if facts.kept is not None or (facts.look is not None and facts.look.has_offer):
        return OFFER_FATE_REJECTED
    return OFFER_FATE_NEVER_SEEN


def _sentence(facts: Facts, outcome: OfferFate, steps: Sequence[ExplanationStep]) -> str:
    stopped, last = _stopped(steps), steps[-1]
    why = stopped.text if stopped is not None else ""
    match outcome:
        case stages.OFFER_FATE_SEARCHABLE:
            return " ".join([last.text, *(it.text for it in steps if it.state == WAITING)])
        case stages.OFFER_FATE_LOAD_FAILED:
            return sentences.NEWEST_FAILED.format(who=_who(facts), fault=_fault(facts), earlier=_earlier(facts))
        case stages.OFFER_FATE_REJECTED:
            return sentences.NOT_TAKEN.format(who=_who(facts), why=why, earlier=_earlier(facts))
        case stages.OFFER_FATE_BANNED:
            return sentences.NOT_SHOWN.format(why=why)
        case stages.OFFER_FATE_REMOVED:
            if stopped is None:
                return sentences.NEWEST_LACKS
            return why
        case stages.OFFER_FATE_NEVER_SEEN:
            in_a_load = stopped is not None and stopped.stage == stages.EXPLANATION_STAGE_OFFER
            return sentences.NOR_IN_OFFERS.format(why=why) if in_a_load and facts.offer is None else why
    awaited = [it for it in steps if it.state == WAITING]
    waiting = next((it for it in awaited if it.stage not in _FOLLOWERS), None)
    if waiting is None:
        return sentences.NOTHING_STOPS
    if waiting.stage == stages.EXPLANATION_STAGE_SOURCE:
        return waiting.text
    meanwhile = sentences.FOUND_MEANWHILE.format(state=found_state(facts)) if _is_found_before(facts) else ""
    return sentences.ON_ITS_WAY.format(text=waiting.text, meanwhile=meanwhile)


def _who(facts: Facts) -> str:
    return f"Load {facts.look.task.task_id}" if facts.look is not None else "The list of offers"


def _fault(facts: Facts) -> str:
    task = facts.look.task if facts.look is not None else None
    if task is None or not task.error_code:
        return ""
    return f" at line {task.error_line} ({task.error_code})" if task.error_line else f" ({task.error_code})"


def _earlier(facts: Facts) -> str:
    """Return the sentence about the state of the offer from before the load that is explained."""
    offer, hit = facts.kept, facts.found
    if facts.is_removed and offer is not None:
        return sentences.REMOVED_BEFORE.format(load=offer.last_task_id)
    if facts.is_alive and hit is not None:
        return sentences.FOUND_AS_BEFORE.format(state=found_state(facts), since=found_since(hit))
    if offer is None and facts.offer is not UNKNOWN:
        return sentences.NEVER_BROUGHT
    if offer is None:
        return ""
    if offer.status == OFFER_STATUS_BANNED:
        return sentences.BANNED_BEFORE.format(load=offer.last_task_id)
    return sentences.STAYS_IN_OFFERS.format(load=offer.last_task_id)


def _is_found_before(facts: Facts) -> bool:
    return facts.found is not None and not facts.is_removed


def _suggestion(steps: Sequence[ExplanationStep], has_duplicates: bool) -> str:
    stopped = _stopped(steps)
    if stopped is not None:
        return stopped.suggestion
    applied = next(it for it in steps if it.stage == stages.EXPLANATION_STAGE_APPLIED)
    if applied.state == WAITING and applied.suggestion:
        return applied.suggestion
    checks = next(it for it in steps if it.stage == stages.EXPLANATION_STAGE_CHECKS)
    return checks.suggestion if has_duplicates else ""


def _unasked(facts: Facts) -> str:
    missing = [
        who
        for who, response in (
            ("the loads", facts.load),
            ("the fetches of the feed", facts.link),
            ("the list of offers", facts.offer),
            ("the search", facts.document),
        )
        if response is UNKNOWN
    ]
    if not missing:
        return ""
    return sentences.NOT_ALL.format(missing=" and ".join(missing).capitalize())


def _stopped(steps: Sequence[ExplanationStep]) -> ExplanationStep | None:
    return next((it for it in steps if it.state == STOPPED), None)
