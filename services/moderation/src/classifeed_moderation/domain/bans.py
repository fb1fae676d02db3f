"""Bans: reasons why the text of an offer is refused, in words for its seller."""

from __future__ import annotations

from typing import Final

from classifeed.moderation.v1.subject_pb2 import Ban, Span
from classifeed_moderation.domain.rules import Reason
from classifeed_moderation.domain.verdicts import Span as VerdictSpan
from classifeed_moderation.domain.verdicts import Verdict

_MESSAGE: Final = "The text is not allowed here."
_SUGGESTION: Final = "Write the text again, without the part that was refused."
_EXCERPT_LIMIT_CHARS: Final = 200


def ban_of(text: str, title_chars: int, reason: Reason, rule_set: str) -> Ban:
    """Return the ban of a refused text, with the span of the title or description that caused it."""
    ban = Ban(
        rule=reason.rule,
        message=reason.message or _MESSAGE,
        suggestion=reason.suggestion or _SUGGESTION,
        rule_set=rule_set,
    )
    spans = reason.verdict.spans if reason.verdict is not None else ()
    if not spans or spans[0].start >= len(text):
        return ban
    start, end = spans[0].start, min(spans[0].end, len(text))
    begin = title_chars + 1 if title_chars and start > title_chars else 0
    ban.field = "title" if start < title_chars else "description"
    ban.span.CopyFrom(Span(start=start - begin, end=end - begin, excerpt=text[start:end][:_EXCERPT_LIMIT_CHARS]))
    return ban


def reason_of_ban(ban: Ban, title_chars: int) -> Reason:
    """Return the reason behind a ban, as far as the ban contains it."""
    spans: tuple[VerdictSpan, ...] = ()
    if ban.HasField("span"):
        begin = title_chars + 1 if title_chars and ban.field == "description" else 0
        spans = (VerdictSpan(begin + ban.span.start, begin + ban.span.end, ban.span.excerpt),)
    return Reason(ban.rule, verdict=Verdict(ban.rule, spans=spans), message=ban.message, suggestion=ban.suggestion)
