"""The stages after a load: the list of offers, moderation, the registry of documents, the search."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Final

from classifeed.feeds.v1 import explanation_pb2 as stages
from classifeed.feeds.v1.explanation_pb2 import ExplanationStage, ExplanationStep
from classifeed.feeds.v1.load_pb2 import ISSUE_KIND_BANNED, OfferError
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_REJECT
from classifeed.feeds.v1.task_pb2 import TASK_STATUS_HELD
from classifeed.offers.v1 import offer_pb2
from classifeed.offers.v1.offer_pb2 import Offer
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain import sentences
from classifeed_api.explain.checks import OWNER_FINDINGS
from classifeed_api.explain.facts import Facts
from classifeed_api.explain.held import describe_hold
from classifeed_api.explain.steps import (
    DONE,
    STOPPED,
    UNASKED,
    WAITING,
    WARNING,
    found_since,
    found_state,
    issues_of,
    stamp_of_version,
    step,
    unasked,
)

_APPLIED: Final = stages.EXPLANATION_STAGE_APPLIED
_MODERATION: Final = stages.EXPLANATION_STAGE_MODERATION
_REGISTERED: Final = stages.EXPLANATION_STAGE_REGISTERED
_SEARCHABLE: Final = stages.EXPLANATION_STAGE_SEARCHABLE
_BY_SETTING: Final = "setting"
# An offer usually takes seconds from the offers service to the search.
_LONG: Final = timedelta(minutes=5)


def describe_applied(facts: Facts) -> ExplanationStep:
    """Describe the outcome in the list of offers."""
    if facts.offer is UNKNOWN:
        return unasked(_APPLIED)
    offer, look = facts.offer, facts.look
    finding = next((it for it in issues_of(facts) if it.code in OWNER_FINDINGS), None)
    if finding is not None:
        return _stopped_by(_APPLIED, finding, offer)
    if offer is None:
        if look is None or facts.newer is not None:
            gone = " any more" if facts.newer is not None else ""
            return step(
                _APPLIED,
                STOPPED,
                sentences.NOT_IN_OFFERS.format(gone=gone),
                code="NOT_WITH_OWNER",
                suggestion=sentences.LOAD_OFFER_FIX,
            )
        return step(_APPLIED, WAITING, sentences.NOT_TAKEN_YET.format(load=look.task.task_id))
    if look is not None and look.has_offer is not False and not facts.is_applied:
        return step(_APPLIED, WAITING, sentences.NOT_ANSWERED_YET.format(load=look.task.task_id))
    if facts.is_removed:
        return step(
            _APPLIED,
            STOPPED,
            sentences.REMOVED_BY.format(load=offer.last_task_id),
            time=offer.update_time,
            code="NOT_IN_FILE",
            suggestion=sentences.LOAD_OFFER_FIX,
        )
    if offer.status == offer_pb2.OFFER_STATUS_REJECTED:
        return step(
            _APPLIED,
            STOPPED,
            sentences.ERRORS_TOO_LONG,
            time=offer.update_time,
            code="ERRORS_TOO_LONG",
            suggestion=sentences.ERRORS_TOO_LONG_FIX,
        )
    return _describe_waiting(facts, offer) if offer.waiting_task_id else _describe_kept(facts, offer)


def describe_moderation(facts: Facts) -> ExplanationStep:
    """Describe the outcome of the moderation of its text."""
    if facts.offer is UNKNOWN:
        return unasked(_MODERATION)
    offer = facts.offer
    if offer is None:
        return step(_MODERATION, WAITING, sentences.MODERATION_LATER)
    if offer.status == offer_pb2.OFFER_STATUS_BANNED:
        ban = next((it for it in issues_of(facts) if it.kind == ISSUE_KIND_BANNED), None)
        if ban is not None:
            return _stopped_by(_MODERATION, ban, offer)
        why = offer.ban
        return step(
            _MODERATION,
            STOPPED,
            sentences.BANNED_BY.format(message=why.message, rule=why.rule) if why.rule else sentences.BANNED,
            time=offer.update_time,
            code="TEXT_FORBIDDEN" if why.rule else "BANNED",
            suggestion=why.suggestion or sentences.BANNED_FIX,
            excerpt=why.span.excerpt,
        )
    if offer.status == offer_pb2.OFFER_STATUS_PENDING or offer.HasField("published_content"):
        meanwhile = sentences.SHOWN_MEANWHILE if offer.HasField("published_content") else ""
        since = offer.text_request_time if offer.HasField("text_request_time") else None
        return step(_MODERATION, WAITING, sentences.MODERATION_AWAITED.format(meanwhile=meanwhile), time=since)
    if offer.moderation == _BY_SETTING:
        text = sentences.APPROVED_BY_SETTING
    else:
        text = sentences.APPROVED_BY.format(moderation=offer.moderation) if offer.moderation else sentences.APPROVED
    return step(_MODERATION, DONE, text, time=offer.update_time)


def describe_registered(facts: Facts) -> ExplanationStep:
    """Describe whether the registry of documents has the newest state."""
    if facts.offer is UNKNOWN:
        return unasked(_REGISTERED)
    offer, hit = facts.offer, facts.found
    if offer is None:
        return step(_REGISTERED, WAITING, sentences.NOTHING_TO_SEARCH)
    if offer.published_version >= offer.version:
        time = hit.compose_time if hit is not None and hit.version >= offer.version else None
        return step(_REGISTERED, DONE, sentences.REGISTERED, time=time)
    return step(_REGISTERED, WAITING, sentences.NOT_REGISTERED_YET.format(delay=_delay(facts, offer)))


def describe_searchable(facts: Facts) -> ExplanationStep:
    """Describe whether the search finds the offer, and since when."""
    if facts.document is UNKNOWN:
        return step(_SEARCHABLE, UNASKED, sentences.SEARCH_UNKNOWN)
    hit, offer = facts.document, facts.kept
    if hit is None:
        return step(_SEARCHABLE, WAITING, sentences.NOT_SEARCHABLE_YET.format(delay=_delay(facts, offer)))
    if facts.offer is UNKNOWN or offer is None:
        text = sentences.SEARCHABLE_MAYBE_OLD.format(state=found_state(facts))
        return step(_SEARCHABLE, WARNING, text, time=hit.index_time)
    if hit.version < offer.version:
        return step(
            _SEARCHABLE, WAITING, sentences.SEARCHABLE_OLD.format(state=found_state(facts), delay=_delay(facts, offer))
        )
    return step(
        _SEARCHABLE,
        DONE,
        sentences.SEARCHABLE.format(state=found_state(facts), since=found_since(hit)),
        time=hit.index_time,
    )


def _describe_waiting(facts: Facts, offer: Offer) -> ExplanationStep:
    """Describe a change that the guard holds back."""
    number = offer.waiting_task_id
    stays = sentences.STAYS_UNTIL_THEN.format(load=offer.last_task_id)
    task = facts.look.task if facts.look is not None and facts.look.task.task_id == number else None
    if task is None or task.status != TASK_STATUS_HELD:
        return step(_APPLIED, WAITING, sentences.CHANGE_AWAITS_END.format(load=number, stays=stays))
    return step(
        _APPLIED,
        WAITING,
        sentences.CHANGE_AWAITS_DECISION.format(load=number, change=describe_hold(task.hold), stays=stays),
        suggestion=sentences.CHANGE_AWAITS_DECISION_FIX,
    )


def _describe_kept(facts: Facts, offer: Offer) -> ExplanationStep:
    number = offer.last_task_id
    look = facts.look
    if offer.last_change == offer_pb2.OFFER_CHANGE_MADE_MANUAL:
        text = sentences.MADE_MANUAL.format(load=number)
        return step(_APPLIED, WARNING, text, time=offer.update_time)
    if look is None or not number:
        return step(_APPLIED, DONE, sentences.IN_OFFERS, time=offer.update_time)
    if number == look.task.task_id:
        brought = offer.last_change == offer_pb2.OFFER_CHANGE_ADDED
        text = (sentences.BROUGHT if brought else sentences.CHANGED).format(load=number)
        return step(_APPLIED, DONE, text, time=offer.update_time)
    if number > look.task.task_id:
        return step(_APPLIED, DONE, sentences.CHANGED_SINCE.format(load=number), time=offer.update_time)
    time = None if look.location is UNKNOWN else look.location.answer_time
    if look.task.decision == HOLD_DECISION_REJECT and look.task.hold.changes:
        text = sentences.CHANGE_MAYBE_REJECTED.format(load=number, explained=look.task.task_id)
        return step(_APPLIED, DONE, text, time=time)
    return step(_APPLIED, DONE, sentences.UNCHANGED.format(load=number), time=time)


def _stopped_by(stage: ExplanationStage, issue: OfferError, offer: Offer | None) -> ExplanationStep:
    return step(
        stage,
        STOPPED,
        issue.message or issue.title or issue.code,
        time=offer.update_time if offer is not None else None,
        suggestion=issue.suggestion or sentences.STOPPED_FIX,
        code=issue.code,
        line=issue.line,
        column=issue.column,
        excerpt=issue.excerpt,
    )


def _delay(facts: Facts, offer: Offer | None) -> str:
    if offer is None or not offer.version:
        return ""
    waited = facts.requested_at - stamp_of_version(offer.version).ToDatetime(tzinfo=UTC)
    return sentences.TAKES_LONG if waited > _LONG else ""
