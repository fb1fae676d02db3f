"""The stage of the checks: the issues of the offer, and the recognised category and place."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed.feeds.v1.explanation_pb2 import EXPLANATION_STAGE_CHECKS, ExplanationState, ExplanationStep
from classifeed.feeds.v1.load_pb2 import (
    ISSUE_KIND_BANNED,
    ISSUE_KIND_DUPLICATE,
    ISSUE_KIND_PICTURE,
    ISSUE_LEVEL_ERROR,
    OfferError,
)
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain import sentences
from classifeed_api.explain.facts import Facts, Look, is_duplicate
from classifeed_api.explain.in_the_load import sent_at, without_load
from classifeed_api.explain.steps import DONE, SKIPPED, STOPPED, UNASKED, WAITING, WARNING, lines_of, step

_STAGE = EXPLANATION_STAGE_CHECKS
# Other stages describe these.
_ELSEWHERE = frozenset({ISSUE_KIND_DUPLICATE, ISSUE_KIND_BANNED, ISSUE_KIND_PICTURE})
# Issues that only the offers service finds: the offer passed the checks and was not applied.
OWNER_FINDINGS = frozenset({"SKIPPED_TILL_NEXT_LOAD", "PATCH_UNKNOWN_OFFER"})
_NAMED_ISSUES = 3


def describe_checks(facts: Facts) -> ExplanationStep:
    """Describe the result of the checks of the offer."""
    look = facts.look
    if look is None:
        return without_load(_STAGE, facts)
    if look.has_offer is False:
        return step(_STAGE, SKIPPED, sentences.NOTHING_TO_CHECK.format(load=look.task.task_id))
    if look.issues is UNKNOWN:
        return step(_STAGE, UNASKED, sentences.CHECKS_UNKNOWN)
    issues = [it for it in look.issues if it.kind not in _ELSEWHERE and it.code not in OWNER_FINDINGS]
    errors = [it for it in issues if it.level == ISSUE_LEVEL_ERROR]
    if errors:
        return _describe_issues(look, STOPPED, errors)
    if not facts.is_applied and not look.has_reply:
        return step(_STAGE, WAITING, sentences.CHECKS_AWAITED)
    if look.duplicate_lines:
        return _describe_duplicates(look, [it for it in look.issues if is_duplicate(it)])
    if issues:
        return _describe_issues(look, WARNING, issues)
    if look.unlisted_issues:
        return _describe_unlisted(look, is_lacking=facts.offer is None and look.has_reply)
    return step(_STAGE, DONE, sentences.CHECKS_PASSED.format(recognised=_recognised(facts)), time=sent_at(look))


def _describe_issues(look: Look, state: ExplanationState, issues: Sequence[OfferError]) -> ExplanationStep:
    first, further = issues[0], issues[1:]
    also = "; ".join(f"{it.title} ({it.code}, line {it.line})" for it in further[:_NAMED_ISSUES])
    more = f"; and {len(further) - _NAMED_ISSUES} more" if len(further) > _NAMED_ISSUES else ""
    again = lines_of(look.duplicate_lines)
    parts = [
        first.message or first.title or first.code,
        sentences.FURTHER_ISSUES.format(also=also, more=more) if also else "",
        sentences.ID_AGAIN.format(lines=again) if look.duplicate_lines else "",
    ]
    advice = dict.fromkeys(it.suggestion for it in issues[: _NAMED_ISSUES + 1] if it.suggestion)
    return step(
        _STAGE,
        state,
        " ".join(filter(None, parts)),
        time=sent_at(look),
        suggestion=" ".join(advice),
        code=first.code,
        line=first.line,
        column=first.column,
        excerpt=first.excerpt,
    )


def _describe_unlisted(look: Look, *, is_lacking: bool) -> ExplanationStep:
    counted = sentences.UNLISTED_ISSUES.format(issues=look.unlisted_issues)
    again = sentences.UNLISTED_FIX
    if not is_lacking:
        return step(
            _STAGE, UNASKED, sentences.NO_ISSUE_LISTED.format(counted=counted), time=sent_at(look), suggestion=again
        )
    most = max(look.task.statistics.issues, key=lambda count: count.unlisted)
    found = sentences.AMONG_UNLISTED.format(counted=counted.replace(" are", " that are"))
    return step(_STAGE, STOPPED, found, time=sent_at(look), suggestion=again, code=most.code)


def _describe_duplicates(look: Look, issues: Sequence[OfferError]) -> ExplanationStep:
    again = look.duplicate_lines
    where = f" on line {look.line}" if look.line else ""
    return step(
        _STAGE,
        WARNING,
        sentences.ID_AGAIN_NOT_READ.format(lines=lines_of(again), where=where),
        time=sent_at(look),
        suggestion=sentences.ID_AGAIN_FIX.format(lines=lines_of(again)),
        code=issues[0].code if issues else "DUPLICATE_ID",
        line=again[0],
        column=issues[0].column if issues else look.places[1].column,
        excerpt=issues[0].excerpt if issues else look.places[1].excerpt,
    )


def _recognised(facts: Facts) -> str:
    """Return the recognised category and place of the offer, if the offers service has it."""
    if facts.kept is None or facts.is_removed:
        return ""
    content = facts.kept.content
    category = " / ".join(content.category_path)
    parts = [
        sentences.CATEGORY_OF_ID.format(category=category, category_id=content.category_id)
        if category and content.category_id
        else "",
        sentences.CATEGORY.format(category=category or content.category_id)
        if bool(category) != bool(content.category_id)
        else "",
        _place(content),
    ]
    return "".join(parts)


def _place(content: OfferContent) -> str:
    if content.HasField("location"):
        point = f"{content.location.latitude:.5f}, {content.location.longitude:.5f}"
        return sentences.PLACE_BY_COORDINATES.format(point=point)
    return sentences.PLACE_IN_WORDS.format(address=content.address) if content.address else ""
