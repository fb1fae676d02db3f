"""Rejudge texts: stored verdicts by the rules in force, slice by slice, without a request."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final

from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_moderation.app.apply_verdicts import Rules
from classifeed_moderation.app.report_decisions import report_decisions
from classifeed_moderation.domain.decisions import Decision, Maker, Subject
from classifeed_moderation.domain.rules import RuleSet
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.store import decisions, rejudging, subjects
from classifeed_moderation.store.rejudging import Change

SLICE_TEXTS: Final = 1000


async def rejudge_slice(
    tx: Tx,
    *,
    request_id: str,
    kind: Kind | None,
    is_dry_run: bool,
    after: str,
    rules: Rules,
    outbox: Outbox,
    decided_at: datetime,
    limit: int = SLICE_TEXTS,
) -> tuple[str | None, int]:
    """Judge the next texts; return where the following slice begins (None: this was the last one), and how many.

    A text changes where the rules give it another status, or a point other tags. A refused point or comment stays
    removed, whatever the rules say now. What a reviewer decided stays as it is, and so does what waits.
    """
    keys = await rejudging.list_judged(tx, kind, after=after, limit=limit)
    locked = await subjects.lock_subjects(tx, keys)
    changed = [decision for subject in locked.values() if (decision := _rejudge(subject, rules.value)) is not None]
    if changed and not is_dry_run:
        recorded = await decisions.record(
            tx, changed, rule_set=rules.version, maker=Maker.RULE, decided_at=decided_at, request_ids={}
        )
        await report_decisions(tx, outbox, recorded)
    counts = Counter(
        Change(item.subject.kind, item.judgement.region_id, item.judgement.rule, item.judgement.status)
        for item in changed
    )
    is_last = len(keys) < limit
    await rejudging.note_slice(tx, request_id, judged=len(keys), changes=counts, is_last=is_last)
    return (None if is_last else keys[-1]), len(keys)


def _rejudge(subject: Subject, rules: RuleSet) -> Decision | None:
    if subject.status is Status.PENDING or subject.decided_by is not Maker.RULE:
        return None  # it was changed, or is judged once more, since its key was read
    if subject.status is Status.DISAPPROVED and subject.kind is not Kind.OFFER:
        return None
    judgement = rules.judge(subject.verdicts, kind=subject.kind, region_ids=subject.region_ids, tags=subject.tags)
    is_tagged_anew = subject.kind is Kind.POINT and set(judgement.tags) != set(subject.tags)
    if judgement.status is subject.status and not is_tagged_anew:
        return None
    is_automatic = not any(verdict.is_from_people for verdict in subject.verdicts)
    return Decision(subject, judgement, subject.verdicts, is_automatic=is_automatic)
