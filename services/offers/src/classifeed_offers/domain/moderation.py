"""Moderation of an offer: its text and the hash of it, and its status before and after the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from classifeed.moderation.v1.offer_texts_pb2 import OfferText, TextsToJudge
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.splitting import split_by_size
from classifeed_offers.domain.documents import plain_text
from classifeed_offers.domain.offers import Namespace, OfferState, Status, digest_of


class Standing(NamedTuple):
    """Moderation status of an offer.

    Attributes:
        status: PENDING, ACTIVE or BANNED.
        by: name of the decider, as kept in `offers.moderation`.
        text_hash: hash of the current text.
        approved_text_hash: hash of the text that may be shown; None: none may.
        ban: serialized Ban with the reason of a refusal; None: the text is not refused.
        published_content: content that the search shows if it differs from the offer's; None: it does not differ.
        is_requested: whether a verdict about the text must be requested.
    """

    status: Status
    by: str
    text_hash: bytes
    approved_text_hash: bytes | None = None
    ban: bytes | None = None
    published_content: bytes | None = None
    is_requested: bool = False


class Moderation(Protocol):
    """Decides the moderation status. Called once for each offer that a load writes; must not block."""

    def standing_of(self, content: OfferContent, before: OfferState | None) -> Standing:
        """Return the standing of an offer with `content` whose state was `before`; None: it is new.

        A retried poll may repeat the call with the same arguments.
        """
        ...


class ApprovedBySetting:
    """Replaces a moderation service: approves every text, and the offer's row records that the setting did."""

    BY = "setting"

    def standing_of(self, content: OfferContent, before: OfferState | None) -> Standing:  # noqa: ARG002 - all are
        """Return ACTIVE, approved by the setting."""
        text_hash = hash_text(content)
        return Standing(Status.ACTIVE, self.BY, text_hash, text_hash)


class ByVerdicts:
    """Decides by the text: an approved text is not judged again, even if other fields change.

    A new text waits. If an approved text was shown, it stays in the search with the new values of other fields.
    """

    BY = "moderation"

    def standing_of(self, content: OfferContent, before: OfferState | None) -> Standing:
        """Return the standing that follows from what is known about the text."""
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


def one_line(html: str) -> str:
    """Return a text without markup, on one line."""
    return " ".join(plain_text(html).split())


def hash_text(content: OfferContent) -> bytes:
    """Return the hash of an offer's text; markup and white space do not change it."""
    return digest_of(f"{one_line(content.title)}\0{one_line(content.description)}".encode())


def text_to_judge(external_id: str, content: OfferContent, text_hash: bytes, content_version: int) -> OfferText:
    """Return a text as moderation receives it."""
    return OfferText(
        external_id=external_id,
        text_hash=text_hash,
        title=one_line(content.title),
        description=one_line(content.description),
        content_version=content_version,
    )


def texts_to_judge(name: Namespace, texts: Sequence[OfferText]) -> list[TextsToJudge]:
    """Return texts of a namespace as messages that each fit into Kafka."""
    return [
        TextsToJudge(seller_id=name.seller_id, namespace=name.namespace, texts=part) for part in split_by_size(texts)
    ]


def _texts_of(before: OfferState) -> tuple[bytes | None, bytes | None]:
    """Return the hashes of the current and the approved text; an old row without hashes shows its own text."""
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
