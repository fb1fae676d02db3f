"""Output of texts, verdicts and decisions for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.moderation.v1 import moderation_service_pb2, subject_pb2
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.amounts import duration_words, local_time, time_words

APPROVED: Final = subject_pb2.MODERATION_STATUS_APPROVED
_HANG: Final = 13


def status_words(status: subject_pb2.ModerationStatus) -> str:
    """Return a status in lower case."""
    return enum_label(subject_pb2.ModerationStatus.DESCRIPTOR, status).lower()


def verdict_words(verdicts: Iterable[subject_pb2.Verdict]) -> str:
    """Return verdicts with the words that caused each."""
    return ", ".join(
        f"{verdict.name} ({', '.join(repr(span.excerpt) for span in verdict.spans)})" if verdict.spans else verdict.name
        for verdict in verdicts
    )


def show_pending(out: Output, subjects: Sequence[subject_pb2.Subject]) -> None:
    """Print a line for each text that waits."""
    if not subjects:
        out.say("no text waits for a verdict")
        return
    out.table(
        ("kind", "waits", "next attempt", "key"),
        (
            (
                _kind(subject.kind),
                duration_words(max(0.0, _ago_s(subject.moderation.start_time))),
                f"{local_time(subject.moderation.next_retry_time):%H:%M:%S}",
                subject.key,
            )
            for subject in subjects
        ),
    )


def show_subject(out: Output, subject: subject_pb2.Subject, decisions: Sequence[subject_pb2.Decision]) -> None:
    """Print a text with every decision about it."""
    moderation = subject.moderation
    out.say(f"{subject.key}: {status_words(moderation.status)}")
    waits = moderation.status == subject_pb2.MODERATION_STATUS_PENDING
    lines = (
        ("kind", _kind(subject.kind)),
        ("text", one_line(subject.text)),
        ("regions", ", ".join(map(str, subject.region_ids))),
        ("since", time_words(moderation.start_time)),
        ("next attempt", time_words(moderation.next_retry_time) if waits else ""),
        ("verdicts", verdict_words(moderation.verdicts)),
    )
    for label, value in lines:
        if value:
            out.say(f"  {label:<10} {value}", hang=_HANG)
    for decision in decisions:
        show_decision(out, decision)


def show_decision(out: Output, decision: subject_pb2.Decision) -> None:
    """Print a decision: its status, its maker, and the reasons."""
    words = f"decision {decision.decision_id}: {status_words(decision.status)}"
    out.say(f"{words}, {time_words(decision.decide_time)}, by {_maker(decision)}")
    is_tagged = decision.HasField("tags_after") and decision.tags_before.names != decision.tags_after.names
    tags = f"{', '.join(decision.tags_before.names)} → {', '.join(decision.tags_after.names)}" if is_tagged else ""
    lines = (
        ("rule", decision.rule),
        ("verdicts", verdict_words(decision.verdicts)),
        ("tags", tags),
        ("rules", decision.rule_set),
        ("replaces", f"decision {decision.supersedes_id}" if decision.supersedes_id else ""),
        ("no effect", "" if decision.applied else decision.not_applied_reason),
    )
    for label, value in lines:
        if value:
            out.say(f"  {label:<10} {value}", hang=_HANG)


def show_check(out: Output, checked: moderation_service_pb2.CheckTextResponse) -> None:
    """Print the decision that a text would get."""
    if checked.status == subject_pb2.MODERATION_STATUS_PENDING:
        out.say("people would have to review it")
    elif checked.status == APPROVED:
        out.say("it would be approved")
    else:
        out.say(f"it would be refused: {checked.ban.message}")
        if checked.ban.suggestion:
            out.say(f"  {'fix':<10} {checked.ban.suggestion}", hang=_HANG)
        out.say(f"  {'rule':<10} {checked.ban.rule}", hang=_HANG)
    if checked.verdicts:
        out.say(f"  {'verdicts':<10} {verdict_words(checked.verdicts)}", hang=_HANG)


def show_rejudgement(out: Output, rejudgement: moderation_service_pb2.Rejudgement) -> None:
    """Print the changes of a Rejudge."""
    changes = rejudgement.changes
    verb = "would change" if rejudgement.dry_run else "changed"
    total = sum(change.texts for change in changes)
    out.say(f"{rejudgement.judged:,} texts judged again: {total:,} {verb}")
    if changes:
        out.table(
            ("kind", "region", "becomes", "texts", "rule"),
            (
                (_kind(each.kind), each.region_id or "any", status_words(each.status), each.texts, each.rule or "none")
                for each in changes
            ),
        )


def show_figures(out: Output, figures: moderation_service_pb2.Figures, *, is_by_day: bool) -> None:
    """Print counts of decisions by interval."""
    if not figures.rows:
        out.say("nothing was decided in that time")
        return
    form = "%Y-%m-%d" if is_by_day else "%m-%d %H:00"
    out.table(
        ("from", "kind", "status", "decisions", "automatic", "p50", "p99", ""),
        (
            (
                f"{datetime.fromtimestamp(row.begin_s, UTC).astimezone():{form}}",
                _kind(row.kind),
                status_words(row.status),
                row.decisions,
                f"{row.automatic / row.decisions:.1%}" if row.decisions else "",
                duration_words(row.wait_p50_s),
                duration_words(row.wait_p99_s),
                row.value,
            )
            for row in figures.rows
        ),
    )


def show_appeals(out: Output, appeals: Sequence[moderation_service_pb2.AppealRecord]) -> None:
    """Print open appeals, with the rule that refused each text."""
    if not appeals:
        out.say("no appeal waits")
        return
    for appeal in appeals:
        out.say(f"appeal {appeal.appeal_id} of {appeal.author_id} about {appeal.key}")
        out.say(f"  {'reason':<10} {one_line(appeal.reason)}", hang=_HANG)
        out.say(f"  {'refused':<10} {appeal.decision.rule}, by {_maker(appeal.decision)}", hang=_HANG)


def _kind(kind: subject_pb2.SubjectKind) -> str:
    return enum_label(subject_pb2.SubjectKind.DESCRIPTOR, kind).lower()


def _maker(decision: subject_pb2.Decision) -> str:
    if decision.reviewer:
        return decision.reviewer
    maker = enum_label(subject_pb2.DecisionMaker.DESCRIPTOR, decision.maker).lower()
    return maker if decision.automatic else f"{maker}, as people judged"


def _ago_s(time: Timestamp) -> float:
    return (datetime.now(UTC) - time.ToDatetime(UTC)).total_seconds()
