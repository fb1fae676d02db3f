"""Apply verdicts: judge them by the rules, record the decisions, and report them, all in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

import structlog

from classifeed_common.db import Tx, after_commit
from classifeed_moderation.app.decisions.record_decisions import Deciding, Rules
from classifeed_moderation.app.decisions.report_decisions import report_decisions
from classifeed_moderation.domain.decisions import Decision, Maker, decide
from classifeed_moderation.domain.rules import RuleSet
from classifeed_moderation.domain.subjects import SentKey, parse_sent_key
from classifeed_moderation.domain.verdicts import VerdictList
from classifeed_moderation.metrics import (
    ABNORMAL,
    IGNORED,
    OTHER_VERDICT,
    SHADOWED,
    UNKNOWN_VERDICTS,
    VERDICTS,
    WAITED,
)
from classifeed_moderation.store import decisions as decisions_table
from classifeed_moderation.store import subjects as subjects_table
from classifeed_moderation.store.decisions import Recorded

_LOGGED_KEY_CHARS: Final = 200
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Arrived:
    """Verdicts about one key.

    Attributes:
        sent_key: key as it was sent, or returned.
        verdict_list: verdicts about the key.
        request_id: id of the callback; empty for responses and for kept verdicts.
        keeps: whether equal texts may reuse these verdicts; false for kept verdicts.
        is_response: whether they respond to a request of ours, which is repeated while the text waits.
    """

    sent_key: str
    verdict_list: VerdictList
    request_id: str = ""
    keeps: bool = True
    is_response: bool = False


@dataclass(slots=True)
class Applied:
    """Outcome of applying verdicts.

    Attributes:
        recorded: recorded decisions, including those that were not applied.
        unknown_keys: keys without a stored text.
        released: number of equal texts that are due now.
    """

    recorded: list[Recorded] = field(default_factory=list)
    unknown_keys: list[str] = field(default_factory=list)
    released: int = 0

    @property
    def is_due(self) -> bool:
        """Whether texts became due."""
        return self.released > 0 or any(item.decision.is_recheck for item in self.recorded)


async def apply_verdicts(
    tx: Tx, arrived: Sequence[Arrived], deciding: Deciding, *, longest_retry_s: float = 0.0
) -> Applied:
    """Apply verdicts to their texts; applying them again changes nothing.

    Verdicts that are not applied are recorded once. If requests for a text repeat the same incomplete verdicts, the
    text is requested at growing intervals of at most `longest_retry_s` seconds.

    The texts, then the kept verdicts, are locked in the order of their keys, so that two such transactions never
    deadlock. Several verdict lists about one text are applied one after the other.
    """
    rules, decided_at = deciding.current_rules(), deciding.clock.now()
    applied = Applied()
    kept: dict[bytes, VerdictList] = {}
    rounds: list[list[Recorded]] = []
    rest = list(arrived)
    while rest:
        taken: dict[str, tuple[SentKey, Arrived]] = {}
        later: list[Arrived] = []
        for item in rest:
            sent = parse_sent_key(item.sent_key)
            if sent.key in taken:
                later.append(item)
            else:
                taken[sent.key] = (sent, item)
        rounds.append(
            await _record_each(
                tx, taken, applied, kept, rules=rules, decided_at=decided_at, longest_retry_s=longest_retry_s
            )
        )
        rest = later
    if kept:
        await decisions_table.keep_verdicts(tx, kept)
        decided = [item.decision.subject.key for recorded in rounds for item in recorded]
        applied.released = await subjects_table.release_same(tx, kept, decided)
    for recorded in rounds:
        await report_decisions(tx, deciding.outbox, recorded)
        applied.recorded += recorded
        after_commit(tx, partial(_measure, recorded, decided_at, rules.value))
    return applied


async def _record_each(
    tx: Tx,
    arrived: Mapping[str, tuple[SentKey, Arrived]],
    applied: Applied,
    kept: dict[bytes, VerdictList],
    *,
    rules: Rules,
    decided_at: datetime,
    longest_retry_s: float,
) -> list[Recorded]:
    subjects = await subjects_table.lock_subjects(tx, arrived.keys())
    decided: list[Decision] = []
    for key, (sent, item) in arrived.items():
        subject = subjects.get(key)
        after_commit(tx, partial(_count, item, is_known=subject is not None))
        if subject is None:
            applied.unknown_keys.append(item.sent_key)
            _log.info("moderation.verdicts.unknown_key", key=key[:_LOGGED_KEY_CHARS])
            continue
        decision = decide(subject, sent, item.verdict_list, rules.value)
        if decision is None:
            _log.debug("moderation.verdicts.repeated", key=key)
            continue
        decided.append(decision)
        if decision.is_applied and item.keeps and item.verdict_list.has_end:
            kept[subject.cache_key] = item.verdict_list
    decided = await _without_repeated(tx, decided, arrived, longest_retry_s=longest_retry_s)
    if not decided:
        return []
    recorded = await decisions_table.record(
        tx,
        decided,
        rule_set=rules.version,
        maker=Maker.RULE,
        decided_at=decided_at,
        request_ids={key: item.request_id for key, (_, item) in arrived.items()},
    )
    if again := [decision.subject.key for decision in decided if decision.is_recheck]:
        await subjects_table.recheck(tx, again)
    return recorded


async def _without_repeated(
    tx: Tx, decided: Sequence[Decision], arrived: Mapping[str, tuple[SentKey, Arrived]], *, longest_retry_s: float
) -> list[Decision]:
    """Omit verdicts that are recorded already and change nothing, and delay the next request of their texts."""
    kept_only = [decision for decision in decided if not decision.is_applied]
    ages = await decisions_table.list_repeated(tx, kept_only) if kept_only else {}
    put_off = {
        key: min(age_s, longest_retry_s)
        for key, age_s in ages.items()
        if arrived[key][1].is_response and longest_retry_s
    }
    if put_off:
        await subjects_table.put_off(tx, put_off)
    return [decision for decision in decided if decision.subject.key not in ages]


def _count(item: Arrived, *, is_known: bool) -> None:
    if item.verdict_list.ignored:
        IGNORED.inc(item.verdict_list.ignored)
    if item.verdict_list.verdicts and not item.verdict_list.has_end:
        ABNORMAL.inc()
        _log.warning("moderation.verdicts.no_end", key=item.sent_key[:_LOGGED_KEY_CHARS], is_known=is_known)


def _measure(recorded: Sequence[Recorded], decided_at: datetime, rules: RuleSet) -> None:
    for item in recorded:
        subject, judgement = item.decision.subject, item.decision.judgement
        for name in judgement.unknown:
            UNKNOWN_VERDICTS.inc()
            _log.warning("moderation.verdict.unknown", verdict=name, key=subject.key)
        if judgement.shadows:
            SHADOWED.labels(subject.kind.lower()).inc()
        if not item.decision.is_applied:
            continue
        for verdict in item.decision.verdicts:
            VERDICTS.labels(verdict.name if verdict.name in rules.cases else OTHER_VERDICT).inc()
        if item.decision.is_first:
            WAITED.labels(subject.kind.lower()).observe(max((decided_at - subject.started).total_seconds(), 0))
