"""Moderation: where an offer stands for the sake of its text, before and after its verdict."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from classifeed.moderation.v1.offer_texts_pb2 import OfferText
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_offers.domain.offers import OfferState, Status
from classifeed_offers.domain.texts import hash_text, plain_text


class Standing(NamedTuple):
    """Where an offer stands for the sake of its text.

    Attributes:
        status: PENDING, ACTIVE or BANNED.
        by: who decided so (kept in `offers.moderation`).
        text_hash: which text it has.
        approved_text_hash: which text may be shown; None: none.
        ban: why the text is refused, a Ban; None: it is not.
        published_content: what the search shows where that is another text; None: the same.
        is_requested: whether a verdict about the text has to be requested.
    """

    status: Status
    by: str
    text_hash: bytes
    approved_text_hash: bytes | None = None
    ban: bytes | None = None
    published_content: bytes | None = None
    is_requested: bool = False


class Moderation(Protocol):
    """Says where an offer stands. Called once for each offer that a load writes; must not block."""

    def standing_of(self, content: OfferContent, before: OfferState | None) -> Standing:
        """Return the standing of an offer that says `content`, and stood as `before`; None: it is new.

        May be called again with the same, when a poll is retried.
        """
        ...


class ApprovedBySetting:
    """Takes the place of a moderation service: every text is approved, and the offer's row says by what."""

    BY = "setting"

    def standing_of(self, content: OfferContent, before: OfferState | None) -> Standing:  # noqa: ARG002 - all are
        """Return ACTIVE, by the setting."""
        text_hash = hash_text(content)
        return Standing(Status.ACTIVE, self.BY, text_hash, text_hash)


class ByVerdicts:
    """Judges by the text: one that was approved is not judged again, whatever else changes.

    A new text waits. Where an approved one was shown, it stays in the search with all that is new around it.
    """

    BY = "moderation"

    def standing_of(self, content: OfferContent, before: OfferState | None) -> Standing:
        """Return the standing by what is known of the text."""
        text_hash = hash_text(content)
        if before is None:
            return Standing(Status.PENDING, self.BY, text_hash, is_requested=True)
        known, approved = _texts_of(before)
        if text_hash == approved:
            return Standing(Status.ACTIVE, self.BY, text_hash, approved)
        if text_hash == known and before.ban is not None:
            return Standing(Status.BANNED, self.BY, text_hash, approved, before.ban)
        shown = _shown_text(before) if approved is not None and before.status is Status.ACTIVE else None
        is_requested = text_hash != known or not before.exists
        if shown is None:
            return Standing(Status.PENDING, self.BY, text_hash, approved, is_requested=is_requested)
        published = OfferContent()
        published.CopyFrom(content)
        published.title, published.description = shown
        return Standing(
            Status.ACTIVE,
            self.BY,
            text_hash,
            approved,
            published_content=published.SerializeToString(deterministic=True),
            is_requested=is_requested,
        )


def text_to_judge(external_id: str, content: OfferContent, text_hash: bytes, content_version: int) -> OfferText:
    """Return a text as moderation gets it."""
    return OfferText(
        external_id=external_id,
        text_hash=text_hash,
        title=plain_text(content.title),
        description=plain_text(content.description),
        content_version=content_version,
    )


def _texts_of(before: OfferState) -> tuple[bytes | None, bytes | None]:
    """Return which text an offer has, and which one may be shown; a row from before texts were hashed shows its own."""
    if before.text_hash is not None:
        return before.text_hash, before.approved_text_hash
    if before.content is None or before.status is not Status.ACTIVE:
        return None, None
    own = hash_text(OfferContent.FromString(before.content))
    return own, own


def _shown_text(before: OfferState) -> tuple[str, str] | None:
    content = before.published_content or before.content
    if content is None:
        return None
    shown = OfferContent.FromString(content)
    return shown.title, shown.description
