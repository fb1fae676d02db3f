"""The stages behind a load: the list of offers, moderation, pictures, the registry of documents, the search."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Final

from classifeed.feeds.v1 import explanation_pb2 as stages
from classifeed.feeds.v1.explanation_pb2 import ExplanationStage, ExplanationStep
from classifeed.feeds.v1.load_pb2 import ISSUE_KIND_BANNED, ISSUE_KIND_PICTURE, OfferError
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_REJECT
from classifeed.feeds.v1.task_pb2 import TASK_STATUS_HELD
from classifeed.offers.v1 import offer_pb2
from classifeed.offers.v1.offer_pb2 import Offer
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain.checks import OWNER_FINDINGS
from classifeed_api.explain.facts import Facts
from classifeed_api.explain.held import describe_hold
from classifeed_api.explain.steps import (
    DONE,
    SKIPPED,
    STOPPED,
    UNASKED,
    WAITING,
    WARNING,
    found_since,
    found_state,
    stamp_of_version,
    step,
)

_APPLIED: Final = stages.EXPLANATION_STAGE_APPLIED
_MODERATION: Final = stages.EXPLANATION_STAGE_MODERATION
_PICTURES: Final = stages.EXPLANATION_STAGE_PICTURES
_REGISTERED: Final = stages.EXPLANATION_STAGE_REGISTERED
_SEARCHABLE: Final = stages.EXPLANATION_STAGE_SEARCHABLE
_BY_SETTING: Final = "setting"
# Usually it takes seconds from the owner to the search.
_LONG: Final = timedelta(minutes=5)


def describe_applied(facts: Facts) -> ExplanationStep:
    """Describe what became of it in the list of offers."""
    if facts.offer is UNKNOWN:
        return _unasked(_APPLIED)
    offer, look = facts.offer, facts.look
    finding = next((it for it in _issues(facts) if it.code in OWNER_FINDINGS), None)
    if finding is not None:
        return _stopped_by(_APPLIED, finding, offer)
    if offer is None:
        if look is None or facts.newer is not None:
            gone = " any more" if facts.newer is not None else ""
            return step(
                _APPLIED,
                STOPPED,
                f"The list of offers does not have it{gone}.",
                code="NOT_WITH_OWNER",
                suggestion="Load a file that has the offer.",
            )
        return step(_APPLIED, WAITING, f"The list of offers has not taken it from load {look.task.task_id} yet.")
    if look is not None and look.has_offer is not False and not facts.is_applied:
        return step(_APPLIED, WAITING, f"What load {look.task.task_id} says of the offer has not been answered yet.")
    if facts.is_removed:
        return step(
            _APPLIED,
            STOPPED,
            f"Load {offer.last_task_id} removed the offer: it did not have it.",
            time=offer.update_time,
            code="NOT_IN_FILE",
            suggestion="Load a file that has the offer.",
        )
    if offer.status == offer_pb2.OFFER_STATUS_REJECTED:
        return step(
            _APPLIED,
            STOPPED,
            "The offer had errors in every load for so long that it left the search.",
            time=offer.update_time,
            code="ERRORS_TOO_LONG",
            suggestion="Correct the errors that its loads list; the next load without them brings it back.",
        )
    return _describe_waiting(facts, offer) if offer.waiting_task_id else _describe_kept(facts, offer)


def describe_moderation(facts: Facts) -> ExplanationStep:
    """Describe what became of its text."""
    if facts.offer is UNKNOWN:
        return _unasked(_MODERATION)
    offer = facts.offer
    if offer is None:
        return step(_MODERATION, WAITING, "Its text is judged once it is in the list of offers.")
    if offer.status == offer_pb2.OFFER_STATUS_BANNED:
        ban = next((it for it in _issues(facts) if it.kind == ISSUE_KIND_BANNED), None)
        if ban is not None:
            return _stopped_by(_MODERATION, ban, offer)
        return step(
            _MODERATION,
            STOPPED,
            "Moderation refuses the offer.",
            time=offer.update_time,
            code="BANNED",
            suggestion="Change the text or the pictures so that they keep to the rules, and load the file again.",
        )
    if offer.status == offer_pb2.OFFER_STATUS_PENDING or offer.HasField("published_content"):
        meanwhile = " The text before it is shown meanwhile." if offer.HasField("published_content") else ""
        return step(_MODERATION, WAITING, f"Its text waits for its verdict.{meanwhile}")
    if offer.moderation == _BY_SETTING:
        text = "Its text was approved by a setting of this installation; nobody has looked at it."
    else:
        text = f"Its text was approved ({offer.moderation})." if offer.moderation else "Its text was approved."
    return step(_MODERATION, DONE, text, time=offer.update_time)


def describe_pictures(facts: Facts) -> ExplanationStep:
    """Describe what became of its pictures."""
    if facts.offer is UNKNOWN:
        return _unasked(_PICTURES)
    if facts.offer is None:
        return step(_PICTURES, WAITING, "Its pictures are looked at once it is in the list of offers.")
    faults = [it for it in _issues(facts) if it.kind == ISSUE_KIND_PICTURE]
    if faults:
        first = faults[0]
        more = f" So with {len(faults) - 1} more." if len(faults) > 1 else ""
        return step(
            _PICTURES,
            WARNING,
            f"{first.message or first.title}{more}",
            suggestion=first.suggestion,
            code=first.code,
            line=first.line,
            column=first.column,
            excerpt=first.excerpt,
        )
    count = len(facts.offer.content.picture_urls)
    return step(
        _PICTURES, SKIPPED, f"Its {count} pictures are kept as links." if count > 1 else _few_pictures(bool(count))
    )


def describe_registered(facts: Facts) -> ExplanationStep:
    """Describe whether the registry of documents has its newest state."""
    if facts.offer is UNKNOWN:
        return _unasked(_REGISTERED)
    offer, hit = facts.offer, facts.found
    if offer is None:
        return step(_REGISTERED, WAITING, "Nothing of it is there to be searched yet.")
    if offer.published_version >= offer.version:
        time = hit.compose_time if hit is not None and hit.version >= offer.version else None
        return step(_REGISTERED, DONE, "The registry of documents has taken its newest state.", time=time)
    return step(_REGISTERED, WAITING, f"Its newest state is about to be sent to the search.{_delay(facts, offer)}")


def describe_searchable(facts: Facts) -> ExplanationStep:
    """Describe whether the search has it, and since when."""
    if facts.document is UNKNOWN:
        return step(_SEARCHABLE, UNASKED, "The search cannot be asked right now.")
    hit, offer = facts.document, facts.kept
    if hit is None:
        return step(_SEARCHABLE, WAITING, f"The search does not have it yet.{_delay(facts, offer)}")
    if facts.offer is UNKNOWN or offer is None:
        text = f"The search finds {found_state(facts)}; whether that is the newest cannot be told right now."
        return step(_SEARCHABLE, WARNING, text, time=hit.index_time)
    if hit.version < offer.version:
        return step(_SEARCHABLE, WAITING, f"The search still finds {found_state(facts)}.{_delay(facts, offer)}")
    return step(_SEARCHABLE, DONE, f"The search finds {found_state(facts)}{found_since(hit)}.", time=hit.index_time)


def _describe_waiting(facts: Facts, offer: Offer) -> ExplanationStep:
    """Describe a change that the guard has set aside."""
    number = offer.waiting_task_id
    stays = f"Until then the offer stays as load {offer.last_task_id} left it."
    task = facts.look.task if facts.look is not None and facts.look.task.task_id == number else None
    if task is None or task.status != TASK_STATUS_HELD:
        return step(
            _APPLIED, WAITING, f"What load {number} changes of the offer waits for the end of that load. {stays}"
        )
    return step(
        _APPLIED,
        WAITING,
        f"What load {number} changes of the offer waits for a decision: the load is held, as it would "
        f"{describe_hold(task.hold)}. {stays}",
        suggestion="Confirm that load if its file is right; else reject it, or load a right one.",
    )


def _describe_kept(facts: Facts, offer: Offer) -> ExplanationStep:
    number = offer.last_task_id
    look = facts.look
    if offer.last_change == offer_pb2.OFFER_CHANGE_MADE_MANUAL:
        text = f"Load {number} did not have it; since then the offer is kept by hand, until a load brings it again."
        return step(_APPLIED, WARNING, text, time=offer.update_time)
    if look is None or not number:
        return step(_APPLIED, DONE, "It is in the list of offers.", time=offer.update_time)
    if number == look.task.task_id:
        brought = offer.last_change == offer_pb2.OFFER_CHANGE_ADDED
        text = f"Load {number} {'brought the offer' if brought else 'changed the offer'}."
        return step(_APPLIED, DONE, text, time=offer.update_time)
    if number > look.task.task_id:
        return step(_APPLIED, DONE, f"Load {number} has changed the offer since.", time=offer.update_time)
    time = None if look.location is UNKNOWN else look.location.answer_time
    if look.task.decision == HOLD_DECISION_REJECT and look.task.hold.changes:
        text = f"It is as load {number} left it: load {look.task.task_id} left it so, or its change was rejected."
        return step(_APPLIED, DONE, text, time=time)
    return step(_APPLIED, DONE, f"As before: nothing of it has changed since load {number}.", time=time)


def _stopped_by(stage: ExplanationStage, issue: OfferError, offer: Offer | None) -> ExplanationStep:
    return step(
        stage,
        STOPPED,
        issue.message or issue.title or issue.code,
        time=offer.update_time if offer is not None else None,
        suggestion=issue.suggestion or "Change what is said there and load the file again.",
        code=issue.code,
        line=issue.line,
        column=issue.column,
        excerpt=issue.excerpt,
    )


def _issues(facts: Facts) -> Sequence[OfferError]:
    return [] if facts.look is None or facts.look.issues is UNKNOWN else facts.look.issues


def _few_pictures(one: bool) -> str:
    return "Its picture is kept as a link." if one else "It has no pictures."


def _delay(facts: Facts, offer: Offer | None) -> str:
    if offer is None or not offer.version:
        return ""
    waited = facts.requested_at - stamp_of_version(offer.version).ToDatetime(tzinfo=UTC)
    return " That takes seconds as a rule; tell the operator." if waited > _LONG else ""


def _unasked(stage: ExplanationStage) -> ExplanationStep:
    return step(stage, UNASKED, "The list of offers cannot be asked right now.")
