"""Adopt decisions that a restore has lost from the owner of offers, and report which numbers are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Final

import structlog

from classifeed.moderation.v1.offer_texts_pb2 import KeptDecision, LostDecisions, TextsJudged, TextsToJudge
from classifeed.moderation.v1.subject_pb2 import MODERATION_STATUS_APPROVED
from classifeed_common.db import Tx
from classifeed_common.kafka import message_of
from classifeed_common.outbox import Outbox
from classifeed_domain.topics import MODERATION_OUTCOMES
from classifeed_moderation.app.decisions.record_decisions import Deciding, Rules
from classifeed_moderation.domain.bans import reason_of_ban
from classifeed_moderation.domain.decisions import Decision, Maker, Subject
from classifeed_moderation.domain.rules import Judgement
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.store import decisions, subjects

_MILLISECOND_BITS: Final = 10  # the low bits distinguish decisions of one millisecond (ADR 0090)
# Decisions may be stored in another order than that of their numbers, within this margin.
_MARGIN_MS: Final = 60_000
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """A decision that the owner of offers has kept, and the hash of its text."""

    text_hash: bytes
    decision: KeptDecision


async def adopt_decisions(tx: Tx, kept: Mapping[str, Kept], deciding: Deciding) -> set[str]:
    """Record decisions about stored texts without an equally late decision, report them, and return the texts' keys.

    An adopted refusal gets the verdict that its ban names, so it can be rejudged. A refusal by an unknown rule counts
    as a reviewer's.
    """
    rules = deciding.current_rules()
    locked = await subjects.lock_subjects(tx, kept)
    times = await decisions.list_times(tx, [each.decision_id for each in locked.values() if each.decision_id])
    made: dict[Maker, list[Decision]] = {}
    for key, subject in locked.items():
        known_at = times.get(subject.decision_id or 0) if subject.decided_by is not None else None
        is_known = known_at is not None and known_at >= kept[key].decision.decide_time.ToDatetime(tzinfo=UTC)
        if subject.text_hash == kept[key].text_hash and not is_known:
            maker, decision = _adopt(subject, kept[key].decision, rules)
            made.setdefault(maker, []).append(decision)
    for maker, adopted in made.items():
        await deciding.record(tx, adopted, maker=maker, rule_set=rules.version)
    keys = {decision.subject.key for adopted in made.values() for decision in adopted}
    if keys:
        _log.info("moderation.decisions.adopted", decisions=len(keys), sent=len(kept))
    return keys


async def report_lost(tx: Tx, outbox: Outbox, sent: Sequence[TextsToJudge], *, kept_days: int) -> None:
    """Report decisions that the owner has applied and that are missing here: a restore has lost them.

    Args:
        tx: transaction of the report.
        outbox: sends the report.
        sent: messages of the owner of offers.
        kept_days: days that decisions are kept.
    """
    asked = {message.applied_decision_id: message for message in sent if message.applied_decision_id}
    if not asked:
        return
    lost = await decisions.list_lost(tx, asked, kept_days=kept_days)
    messages = []
    for decision_id, kept_decision_id in lost.items():
        report = LostDecisions(decision_id=decision_id, kept_decision_id=kept_decision_id)
        report.begin_time.FromMilliseconds(max((kept_decision_id >> _MILLISECOND_BITS) - _MARGIN_MS, 0))
        message = asked[decision_id]
        judged = TextsJudged(seller_id=message.seller_id, namespace=message.namespace, lost=report)
        messages.append(message_of(MODERATION_OUTCOMES, message.seller_id.encode(), judged))
        _log.warning("moderation.decisions.lost", decision_id=decision_id, kept_decision_id=kept_decision_id)
    await outbox.put(tx, messages)


def _adopt(subject: Subject, kept: KeptDecision, rules: Rules) -> tuple[Maker, Decision]:
    maker = Maker.RULE
    if kept.status == MODERATION_STATUS_APPROVED:
        judgement = rules.value.judge((), kind=subject.kind, region_ids=subject.region_ids, tags=())
    else:
        reason = reason_of_ban(kept.ban, subject.title_chars)
        judgement = Judgement(Status.DISAPPROVED, reason.rule, reason=reason)
        maker = Maker.RULE if reason.rule in rules.value.cases else Maker.REVIEWER
    verdict = judgement.reason.verdict if judgement.reason is not None else None
    verdicts = (verdict,) if verdict is not None and maker is Maker.RULE else ()
    is_automatic = maker is Maker.RULE and not any(each.is_from_people for each in verdicts)
    # The wait for the first decision was measured when the decision was made.
    return maker, Decision(replace(subject, decided_by=maker), judgement, verdicts, is_automatic=is_automatic)
