"""Output of texts, verdicts and decisions for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.moderation.v1 import moderation_service_pb2, subject_pb2
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.amounts import duration_words, local_time, time_words

APPROVED: Final = subject_pb2.MODERATION_STATUS_APPROVED
_WIDTH: Final = 10
PENDING: Final = Table[subject_pb2.Subject](
    {
        "kind": lambda subject: _kind(subject.kind),
        "waits": lambda subject: duration_words(max(0.0, _ago_s(subject.moderation.start_time))),
        "next attempt": lambda subject: f"{local_time(subject.moderation.next_retry_time):%H:%M:%S}",
        "key": lambda subject: subject.key,
    },
    empty="no text waits for a verdict",
)
CHANGES: Final = Table[moderation_service_pb2.RejudgedCount](
    {
        "kind": lambda each: _kind(each.kind),
        "region": lambda each: each.region_id or "any",
        "becomes": lambda each: status_words(each.status),
        "texts": lambda each: each.texts,
        "rule": lambda each: each.rule or "none",
    }
)


def status_words(status: subject_pb2.ModerationStatus) -> str:
    """Return a status in lower case."""
    return enum_label(subject_pb2.ModerationStatus.DESCRIPTOR, status).lower()


def verdict_words(verdicts: Iterable[subject_pb2.Verdict]) -> str:
    """Return verdicts with the words that caused each."""
    return ", ".join(
        f"{verdict.name} ({', '.join(repr(span.excerpt) for span in verdict.spans)})" if verdict.spans else verdict.name
        for verdict in verdicts
    )


def show_subject(out: Output, subject: subject_pb2.Subject, decisions: Sequence[subject_pb2.Decision]) -> None:
    """Print a text with every decision about it."""
    moderation = subject.moderation
    out.say(f"{subject.key}: {status_words(moderation.status)}")
    waits = moderation.status == subject_pb2.MODERATION_STATUS_PENDING
    fields = {
        "kind": _kind(subject.kind),
        "text": one_line(subject.text),
        "regions": ", ".join(map(str, subject.region_ids)),
        "since": time_words(moderation.start_time),
        "next attempt": time_words(moderation.next_retry_time) if waits else "",
        "verdicts": verdict_words(moderation.verdicts),
    }
    out.fields(fields, _WIDTH)
    for decision in decisions:
        show_decision(out, decision)


def show_decision(out: Output, decision: subject_pb2.Decision) -> None:
    """Print a decision: its status, its maker, and the reasons."""
    words = f"decision {decision.decision_id}: {status_words(decision.status)}"
    out.say(f"{words}, {time_words(decision.decide_time)}, by {_maker(decision)}")
    is_tagged = decision.HasField("tags_after") and decision.tags_before.names != decision.tags_after.names
    tags = f"{', '.join(decision.tags_before.names)} → {', '.join(decision.tags_after.names)}" if is_tagged else ""
    fields = {
        "rule": decision.rule,
        "verdicts": verdict_words(decision.verdicts),
        "tags": tags,
        "rules": decision.rule_set,
        "replaces": f"decision {decision.supersedes_id}" if decision.supersedes_id else "",
        "no effect": "" if decision.applied else decision.not_applied_reason,
    }
    out.fields(fields, _WIDTH)


def show_check(out: Output, checked: moderation_service_pb2.CheckTextResponse) -> None:
    """Print the decision that a text would get."""
    if checked.status == subject_pb2.MODERATION_STATUS_PENDING:
        out.say("people would have to review it")
    elif checked.status == APPROVED:
        out.say("it would be approved")
    else:
        out.say(f"it would be refused: {checked.ban.message}")
        out.fields({"fix": checked.ban.suggestion, "rule": checked.ban.rule}, _WIDTH)
    out.fields({"verdicts": verdict_words(checked.verdicts)}, _WIDTH)


def show_rejudgement(out: Output, rejudgement: moderation_service_pb2.Rejudgement) -> None:
    """Print the changes of a Rejudge."""
    changes = rejudgement.changes
    verb = "would change" if rejudgement.dry_run else "changed"
    total = sum(change.texts for change in changes)
    out.say(f"{rejudgement.judged:,} texts judged again: {total:,} {verb}")
    if changes:
        out.rows(CHANGES, changes)


def figures_by(form: str) -> Table[moderation_service_pb2.FigureRow]:
    """Return the table of counts of decisions by interval, whose beginning has the form."""
    return Table(
        {
            "from": lambda row: f"{datetime.fromtimestamp(row.begin_s, UTC).astimezone():{form}}",
            "kind": lambda row: _kind(row.kind),
            "status": lambda row: status_words(row.status),
            "decisions": lambda row: row.decisions,
            "automatic": lambda row: f"{row.automatic / row.decisions:.1%}" if row.decisions else "",
            "p50": lambda row: duration_words(row.wait_p50_s),
            "p99": lambda row: duration_words(row.wait_p99_s),
            "": lambda row: row.value,
        },
        empty="nothing was decided in that time",
    )


def show_appeals(out: Output, appeals: Sequence[moderation_service_pb2.AppealRecord]) -> None:
    """Print open appeals, with the rule that refused each text."""
    if not appeals:
        out.say("no appeal waits")
        return
    for appeal in appeals:
        out.say(f"appeal {appeal.appeal_id} of {appeal.author_id} about {appeal.key}")
        refused = f"{appeal.decision.rule}, by {_maker(appeal.decision)}"
        out.fields({"reason": one_line(appeal.reason), "refused": refused}, _WIDTH)


def _kind(kind: subject_pb2.SubjectKind) -> str:
    return enum_label(subject_pb2.SubjectKind.DESCRIPTOR, kind).lower()


def _maker(decision: subject_pb2.Decision) -> str:
    if decision.reviewer:
        return decision.reviewer
    maker = enum_label(subject_pb2.DecisionMaker.DESCRIPTOR, decision.maker).lower()
    return maker if decision.automatic else f"{maker}, as people judged"


def _ago_s(time: Timestamp) -> float:
    return (datetime.now(UTC) - time.ToDatetime(UTC)).total_seconds()
