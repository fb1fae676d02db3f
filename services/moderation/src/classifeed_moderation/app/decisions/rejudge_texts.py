"""Rejudge texts: judge stored verdicts by the current rules, slice by slice, without requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final

from classifeed_common.db import Tx
from classifeed_moderation.app.decisions.record_decisions import Deciding, Rules
from classifeed_moderation.domain.decisions import Decision, Maker, Subject
from classifeed_moderation.domain.rules import Judgement, RuleSet
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.store import rejudging, subjects
from classifeed_moderation.store.rejudging import Change, JudgedText

SLICE_TEXTS: Final = 1000


async def rejudge_slice(
    tx: Tx,
    deciding: Deciding,
    *,
    request_id: str,
    kind: Kind | None,
    is_dry_run: bool,
    after: str,
    limit: int = SLICE_TEXTS,
) -> tuple[str | None, int]:
    """Judge the next texts; return the start of the next slice (None: this was the last) and the number of texts.

    A text changes if the rules give it another status, or a point other tags. A refused point or comment stays
    refused under any rules. Decisions of reviewers stay, and waiting texts are skipped.
    """
    rules = deciding.current_rules()
    texts = await rejudging.list_judged(tx, kind, after=after, limit=limit)
    found = {text.key: judgement for text in texts if (judgement := _judge(text, rules.value)) is not None}
    if found and not is_dry_run:
        found = await _change(tx, found, rules, deciding)
    kinds = {text.key: text.kind for text in texts}
    counts = Counter(
        Change(kinds[key], judgement.region_id, judgement.rule, judgement.status) for key, judgement in found.items()
    )
    is_last = len(texts) < limit
    await rejudging.note_slice(tx, request_id, judged=len(texts), changes=counts, is_last=is_last)
    return (None if is_last else texts[-1].key), len(texts)


async def _change(tx: Tx, keys: Collection[str], rules: Rules, deciding: Deciding) -> dict[str, Judgement]:
    """Lock texts, judge their current state, and record and return the changes."""
    changed = [
        Decision(subject, judgement, subject.verdicts, is_automatic=_is_automatic(subject))
        for subject in (await subjects.lock_subjects(tx, keys)).values()
        if subject.decided_by is Maker.RULE and (judgement := _judge(subject, rules.value)) is not None
    ]
    if changed:
        await deciding.record(tx, changed, maker=Maker.RULE, rule_set=rules.version)
    return {decision.subject.key: decision.judgement for decision in changed}


def _judge(text: JudgedText | Subject, rules: RuleSet) -> Judgement | None:
    """Return the judgement of a text by the current rules, or None if nothing changes."""
    if text.status is Status.PENDING or (text.status is Status.DISAPPROVED and text.kind is not Kind.OFFER):
        return None
    judgement = rules.judge(text.verdicts, kind=text.kind, region_ids=text.region_ids, tags=text.tags)
    is_tagged_anew = text.kind is Kind.POINT and set(judgement.tags) != set(text.tags)
    return judgement if judgement.status is not text.status or is_tagged_anew else None


def _is_automatic(subject: Subject) -> bool:
    return not any(verdict.is_from_people for verdict in subject.verdicts)
