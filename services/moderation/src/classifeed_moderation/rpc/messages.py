"""Conversion of rows to messages of texts and decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from classifeed.moderation.v1.subject_pb2 import Decision, Moderation, Span, Subject, Tags
from classifeed.moderation.v1.subject_pb2 import Verdict as VerdictMessage
from classifeed_moderation.app.decisions.report_decisions import verdict_messages
from classifeed_moderation.domain.decisions import Subject as StoredText
from classifeed_moderation.domain.verdicts import END, Verdict, VerdictList, from_json
from classifeed_moderation.domain.verdicts import Span as VerdictSpan


def subject_message(subject: StoredText, decision: Decision | None = None) -> Subject:
    """Return a text as a message, with its decision if there is one."""
    message = Subject(
        key=subject.key,
        kind=f"SUBJECT_KIND_{subject.kind}",
        text=subject.text,
        text_hash=subject.text_hash,
        content_version=subject.content_version,
        region_ids=subject.region_ids,
        moderation=moderation_message(subject),
    )
    if decision is not None:
        message.decision.CopyFrom(decision)
    return message


def moderation_message(subject: StoredText) -> Moderation:
    """Return the moderation state of a text as a message."""
    message = Moderation(status=f"MODERATION_STATUS_{subject.status}", verdicts=verdict_messages(subject.verdicts))
    message.start_time.FromDatetime(subject.started)
    if subject.next_retry is not None:
        message.next_retry_time.FromDatetime(subject.next_retry)
    return message


def decision_message(row: Any) -> Decision:
    """Return a row of `decisions` as a message."""
    message = Decision(
        decision_id=row.decision_id,
        key=row.subject_key,
        kind=f"SUBJECT_KIND_{row.kind}",
        content_version=row.content_version,
        status=f"MODERATION_STATUS_{row.status}",
        verdicts=verdict_messages(from_json(row.verdicts)),
        rule=row.rule,
        rule_set=row.rule_set,
        region_id=row.region_id,
        maker=f"DECISION_MAKER_{row.maker}",
        reviewer=row.reviewer,
        applied=row.is_applied,
        not_applied_reason=row.not_applied_reason,
        supersedes_id=row.supersedes_id or 0,
        request_id=row.request_id,
        automatic=row.is_automatic,
    )
    message.decide_time.FromDatetime(row.decided_at)
    message.record_time.FromDatetime(row.recorded_at)
    if row.tags_before is not None:
        message.tags_before.CopyFrom(Tags(names=row.tags_before))
        message.tags_after.CopyFrom(Tags(names=row.tags_after))
    return message


def verdicts_of(messages: Sequence[VerdictMessage], *, has_end: bool) -> VerdictList:
    """Return verdicts of messages, sorted by name and unique.

    Args:
        messages: verdicts as messages.
        has_end: whether the messages are complete even without an end verdict.
    """
    found = {
        message.name: Verdict(
            message.name, message.source, spans=_spans(message.spans), reviewers=tuple(message.reviewers)
        )
        for message in messages
    }
    end = found.pop(END, None)
    verdicts = tuple(found[name] for name in sorted(found))
    return VerdictList(verdicts, has_end or end is not None, is_ended_by_people=end is not None and end.is_from_people)


def _spans(spans: Sequence[Span]) -> tuple[VerdictSpan, ...]:
    return tuple(VerdictSpan(span.start, span.end, span.excerpt) for span in spans)
