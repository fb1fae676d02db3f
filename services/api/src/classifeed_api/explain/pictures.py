"""The stage of pictures: stored, awaited and failed ones."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import explanation_pb2 as stages
from classifeed.feeds.v1.explanation_pb2 import ExplanationStep
from classifeed.feeds.v1.load_pb2 import ISSUE_KIND_PICTURE, OfferError
from classifeed.offers.v1.offer_pb2 import (
    OFFER_PICTURE_STATE_AWAITED,
    OFFER_PICTURE_STATE_FAILED,
    OFFER_PICTURE_STATE_STORED,
    Offer,
    OfferPicture,
)
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain import sentences
from classifeed_api.explain.facts import Facts
from classifeed_api.explain.steps import DONE, SKIPPED, WAITING, WARNING, issues_of, step, unasked

_PICTURES: Final = stages.EXPLANATION_STAGE_PICTURES
_URL_CHARS: Final = 200


def describe_pictures(facts: Facts) -> ExplanationStep:
    """Describe the state of the offer's pictures."""
    if facts.offer is UNKNOWN:
        return unasked(_PICTURES)
    if facts.offer is None:
        return step(_PICTURES, WAITING, sentences.PICTURES_LATER)
    pictures = facts.offer.pictures
    if not pictures:
        return _describe_links(facts, facts.offer)
    failed = [it for it in pictures if it.state == OFFER_PICTURE_STATE_FAILED]
    if failed:
        return _describe_failed(facts, failed, len(pictures))
    awaited = [it for it in pictures if it.state == OFFER_PICTURE_STATE_AWAITED]
    stored = sum(it.state == OFFER_PICTURE_STATE_STORED for it in pictures)
    is_one = len(pictures) == 1
    if awaited:
        text = (
            sentences.PICTURE_AWAITED
            if is_one
            else sentences.PICTURES_AWAITED.format(stored=stored, count=len(pictures))
        )
        first = min(awaited, key=lambda it: it.request_time.ToNanoseconds())
        return step(_PICTURES, WAITING, text, time=first.request_time)
    text = sentences.PICTURE_STORED if is_one else sentences.PICTURES_STORED.format(count=len(pictures))
    return step(_PICTURES, DONE, text)


def _describe_failed(facts: Facts, failed: list[OfferPicture], count: int) -> ExplanationStep:
    first = failed[0]
    url = first.url[:_URL_CHARS]
    reason = first.failure.message.strip().rstrip(".") or first.failure.code or "no reason is known"
    if reason.startswith(f"{first.url} "):  # the sentence has the link already
        reason = f"it{reason.removeprefix(first.url)}"
    sentence = sentences.PICTURE_FAILED if count == 1 else sentences.PICTURES_FAILED
    # The load has the line, and the code that sellers see.
    issue = next(
        (it for it in issues_of(facts) if it.kind == ISSUE_KIND_PICTURE and it.excerpt == first.url), OfferError()
    )
    return step(
        _PICTURES,
        WARNING,
        sentence.format(failed=len(failed), count=count, url=url, reason=reason),
        suggestion=issue.suggestion or sentences.PICTURE_FAILED_FIX,
        code=issue.code,
        line=issue.line,
        excerpt=url,
    )


def _describe_links(facts: Facts, offer: Offer) -> ExplanationStep:
    """Describe pictures that were not requested: the warnings of the load, or that they are links."""
    faults = [it for it in issues_of(facts) if it.kind == ISSUE_KIND_PICTURE]
    if faults and offer.content.picture_urls:
        first = faults[0]
        more = sentences.MORE_PICTURES.format(more=len(faults) - 1) if len(faults) > 1 else ""
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
    count = len(offer.content.picture_urls)
    if count > 1:
        return step(_PICTURES, SKIPPED, sentences.PICTURES_AS_LINKS.format(count=count))
    return step(_PICTURES, SKIPPED, sentences.PICTURE_AS_LINK if count else sentences.NO_PICTURES)
