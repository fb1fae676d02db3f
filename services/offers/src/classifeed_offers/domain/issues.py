"""Issues of offers that sellers see: findings about records, texts that are refused, and pictures that failed."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1.load_pb2 import (
    ISSUE_KIND_BANNED,
    ISSUE_KIND_PICTURE,
    ISSUE_KIND_VALIDATION,
    ISSUE_LEVEL_ERROR,
    ISSUE_LEVEL_WARNING,
    OfferError,
)
from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed.moderation.v1.subject_pb2 import Ban
from classifeed.offers.v1.offer_pb2 import OfferPicture
from classifeed_domain.pictures.issues import PICTURE_ISSUES, code_of
from classifeed_offers.domain.decide import Finding
from classifeed_offers.domain.offers import digest_of

TEXT_FORBIDDEN: Final = "TEXT_FORBIDDEN"
_URL_CHARS: Final = 200

_MESSAGES: Final = {
    Finding.KEPT_NOTHING: (
        "Skipped until the next load",
        "A step of the load failed temporarily, and there is no earlier version of this offer to keep.",
        "Nothing to do: the next load tries again.",
    ),
    Finding.UNKNOWN_TO_PATCH: (
        "The offer to change does not exist",
        "The file changes prices or stocks of existing offers, and this namespace has no offer with this id.",
        "Load the full feed with this offer first, or correct the id.",
    ),
}


def finding_issue(record: OfferRecord, finding: Finding) -> OfferError:
    """Return the warning about a record with a finding."""
    title, message, suggestion = _MESSAGES[finding]
    return OfferError(
        # The id depends on the offer and the finding only, so that a later run of the task does not store it twice.
        error_id=digest_of(f"{record.external_id}\0{finding.value}".encode()).hex(),
        external_id=record.external_id,
        ordinal=record.ordinal,
        level=ISSUE_LEVEL_WARNING,
        kind=ISSUE_KIND_VALIDATION,
        code=finding.value,
        line=record.line,
        title=title,
        message=message,
        suggestion=suggestion,
    )


def ban_issue(external_id: str, ban: Ban, *, ordinal: int = 0, line: int = 0) -> OfferError:
    """Return the error of an offer whose text is refused; the same text gets the same error id in every load."""
    content = "\0".join((external_id, TEXT_FORBIDDEN, ban.rule, ban.field, ban.span.excerpt))
    return OfferError(
        error_id=digest_of(content.encode()).hex(),
        external_id=external_id,
        ordinal=ordinal,
        level=ISSUE_LEVEL_ERROR,
        kind=ISSUE_KIND_BANNED,
        code=TEXT_FORBIDDEN,
        field=ban.field,
        line=line,
        excerpt=ban.span.excerpt,
        title="Text refused by moderation",
        message=f"{ban.message} Rule: {ban.rule}.",
        suggestion=ban.suggestion,
    )


def picture_issue(external_id: str, picture: OfferPicture, *, ordinal: int = 0, line: int = 0) -> OfferError:
    """Return the warning about a failed picture; a link gets the same warning in every load until it is stored."""
    code = code_of(picture.failure)
    words = PICTURE_ISSUES[code]
    url = picture.url if len(picture.url) <= _URL_CHARS else f"{picture.url[: _URL_CHARS - 1]}…"
    reason = picture.failure.message.strip().rstrip(".") or picture.failure.code
    if reason.startswith(f"{picture.url} "):  # the message has the link already
        reason = f"it{reason.removeprefix(picture.url)}"
    return OfferError(
        error_id=digest_of("\0".join((external_id, code, picture.url)).encode()).hex(),
        external_id=external_id,
        ordinal=ordinal,
        level=ISSUE_LEVEL_WARNING,
        kind=ISSUE_KIND_PICTURE,
        code=code,
        field="picture",
        line=line,
        excerpt=url,
        title=words.title,
        message=f"The picture {url} could not be loaded: {reason}.",
        suggestion=words.suggestion,
    )
