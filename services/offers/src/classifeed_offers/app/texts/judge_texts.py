"""Apply verdicts about texts: show offers, or ban them with the reason, and correct the counts of their loads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import Any

import structlog

from classifeed.feeds.v1.offer_results_pb2 import LateError, LateResult
from classifeed.moderation.v1.offer_texts_pb2 import OfferTextJudged, TextsJudged
from classifeed.moderation.v1.subject_pb2 import MODERATION_STATUS_DISAPPROVED, Ban
from classifeed_common.db import Tx
from classifeed_common.splitting import split_by_size
from classifeed_offers.domain.issues import ban_issue
from classifeed_offers.domain.moderation import ByVerdicts
from classifeed_offers.domain.offers import Change, Namespace, Status
from classifeed_offers.domain.results import late_result
from classifeed_offers.store import applying, judging
from classifeed_offers.store.judging import Outcome

_log = structlog.get_logger(__name__)
_COUNTED = {Change.ADDED, Change.UPDATED}
_SHOWN = {Status.PENDING, Status.ACTIVE}


async def apply_outcomes(tx: Tx, judged: Sequence[TextsJudged]) -> list[LateResult]:
    """Apply outcomes in order and return corrections for loads. Outcomes that were applied before change nothing."""
    by_namespace: dict[Namespace, list[OfferTextJudged]] = {}
    for message in judged:
        by_namespace.setdefault(Namespace(message.seller_id, message.namespace), []).extend(message.texts)
    await applying.lock_heads(tx, set(by_namespace))
    await applying.forbid_scans(tx)
    late: list[LateResult] = []
    for namespace, texts in by_namespace.items():
        outcomes = list(_newest(texts))
        changed = await judging.apply_outcomes(tx, namespace, outcomes, by=ByVerdicts.BY)
        if len(changed) < len(outcomes):
            _log.debug("offers.outcomes.skipped", **namespace._asdict(), texts=len(outcomes), changed=len(changed))
        late += _late_results(namespace, changed)
    return late


def _newest(texts: Iterable[OfferTextJudged]) -> Iterable[Outcome]:
    """Return the newest outcome of each text."""
    newest: dict[tuple[str, bytes], Outcome] = {}
    for text in texts:
        decided_at = text.decide_time.ToDatetime(tzinfo=UTC)
        known = newest.get((text.external_id, text.text_hash))
        if known is None or known.decided_at <= decided_at:
            is_banned = text.status == MODERATION_STATUS_DISAPPROVED
            ban = text.ban.SerializeToString(deterministic=True) if is_banned else None
            newest[text.external_id, text.text_hash] = Outcome(text.external_id, text.text_hash, ban, decided_at)
    return newest.values()


def _late_results(namespace: Namespace, changed: Sequence[Any]) -> list[LateResult]:
    by_task: dict[int, list[LateError]] = {}
    for row in changed:
        if row.status != Status.BANNED or row.status_before not in _SHOWN:
            continue
        counted = f"OFFER_CHANGE_{row.last_change}" if row.last_change in _COUNTED else None
        ban = Ban.FromString(row.ban)
        error = ban_issue(row.external_id, ban, ordinal=row.last_ordinal, line=row.last_line)
        by_task.setdefault(row.last_task_id, []).append(LateError(error=error, counted=counted))
    return [
        late_result(namespace, task_id, part) for task_id, errors in by_task.items() for part in split_by_size(errors)
    ]
