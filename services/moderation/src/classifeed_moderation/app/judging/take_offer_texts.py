"""TakeOfferTexts: stores new texts of offers, and reports decided ones again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import structlog

from classifeed.moderation.v1.offer_texts_pb2 import KeptDecision, OfferTextJudged, TextsToJudge
from classifeed_common.db import Tx, after_commit
from classifeed_moderation.app.decisions.adopt_decisions import Kept, adopt_decisions, report_lost
from classifeed_moderation.app.decisions.record_decisions import Deciding, Rules
from classifeed_moderation.app.decisions.report_decisions import judged_text, outcome_messages
from classifeed_moderation.app.judging.queue_texts import TaskQueue
from classifeed_moderation.domain.bans import ban_of
from classifeed_moderation.domain.subjects import Kind, Status, Task, offer_key
from classifeed_moderation.domain.verdicts import from_json
from classifeed_moderation.store import closings, decisions, offer_texts, subjects
from classifeed_moderation.store.offer_texts import NewOfferText

_log = structlog.get_logger(__name__)


class TakeOfferTexts:
    """Stores texts of offers, and hands new texts to the workers of this process.

    A new text enters the queue after the commit if there is room for new texts; it is then stored as claimed.
    Otherwise it is due at once: without room, without workers, or if verdicts about an equal text are kept. Of several
    equal texts, the first is requested, and its decision releases the others.

    Args:
        queue: queue of the workers.
        deciding: rules, clock and outbox of the decisions.
        retry_interval_s: seconds until a claimed text is due again.
        kept_verdicts_s: seconds that verdicts are kept for equal texts.
        decisions_days: days that decisions are kept.
        on_due: called after a commit that made texts due.
    """

    def __init__(
        self,
        queue: TaskQueue,
        deciding: Deciding,
        *,
        retry_interval_s: float,
        kept_verdicts_s: float,
        decisions_days: int,
        on_due: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._deciding = deciding
        self._retry_s = retry_interval_s
        self._kept_s = kept_verdicts_s
        self._decisions_days = decisions_days
        self._on_due = on_due

    async def __call__(self, tx: Tx, sent: Sequence[TextsToJudge]) -> None:
        """Store new texts, and put the outcomes of decided texts into the outbox again.

        A decision that arrives with a text is adopted. Decisions that a restore has lost are reported. Waiting texts of
        removed offers are deleted.
        """
        await report_lost(tx, self._deciding.outbox, sent, kept_days=self._decisions_days)
        newest = _newest(sent)
        if removed := _removed(sent):
            newest = {key: found for key, found in newest.items() if found[0].content_version > removed.get(key, -1)}
            gone = {key: version for key, version in removed.items() if key not in newest}
            # The order of the keys prevents deadlocks: other transactions lock texts in this order, too.
            await subjects.lock_keys(tx, [*newest, *gone])
            await closings.remove_offer_texts(tx, gone)
        if not newest:
            return
        texts = [text for text, _ in newest.values()]
        kept = {key: Kept(text.text_hash, decision) for key, (text, decision) in newest.items() if decision is not None}
        requested = [text for text in texts if text.key not in kept]
        queued = await self._choose(tx, requested)
        due_in_s = [self._retry_s if text.cache_key in queued else 0.0 for text in texts]
        done = await offer_texts.put_offer_texts(tx, texts, due_in_s)
        new = [text for text in requested if text.key in done]
        if kept:
            done |= await adopt_decisions(tx, kept, self._deciding)
        firsts: dict[bytes, Task] = {}
        for text in new:
            if text.cache_key in queued:
                firsts.setdefault(text.cache_key, text.task)
        if firsts:
            after_commit(tx, partial(self._queue.put_all, firsts.values()))
        if any(text.cache_key not in queued for text in new):
            after_commit(tx, self._on_due)
        if len(done) < len(texts):
            await self._report_again(tx, [text for text in texts if text.key not in done])

    async def _choose(self, tx: Tx, texts: Sequence[NewOfferText]) -> set[bytes]:
        """Return the keys of the texts that enter the queue: as many as there is room for, oldest first."""
        if not texts or not (room := self._queue.room_for_new(Kind.OFFER)):
            return set()
        keys = dict.fromkeys(text.cache_key for text in texts)
        kept = await decisions.list_kept(tx, keys, age_s=self._kept_s)
        return set(islice((key for key in keys if key not in kept), room))

    async def _report_again(self, tx: Tx, known: Sequence[NewOfferText]) -> None:
        decided = await offer_texts.list_decided(tx, known)
        _log.debug("moderation.texts.repeated", texts=len(known), decided=len(decided))
        rules = self._deciding.current_rules()
        judged = (((row.seller_id, row.namespace, row.external_id), judged_again(row, rules)) for row in decided)
        await self._deciding.outbox.put(tx, outcome_messages(judged))


def _removed(sent: Iterable[TextsToJudge]) -> dict[str, int]:
    """Return the content version of the newest removal of each offer."""
    removed: dict[str, int] = {}
    for message in sent:
        for offer in message.removed:
            key = offer_key(message.seller_id, message.namespace, offer.external_id)
            removed[key] = max(offer.content_version, removed.get(key, 0))
    return removed


def judged_again(row: Any, rules: Rules) -> OfferTextJudged:
    """Return the outcome of a decided text, as it was reported before."""
    ban = None
    if row.status == Status.DISAPPROVED:
        reason = rules.value.reason_of(row.rule, from_json(row.verdicts))
        ban = ban_of(row.text, row.title_chars, reason, row.rule_set)
    return judged_text(row.external_id, row.text_hash, row.status, row.decision_id, row.recorded_at, ban)


def _newest(sent: Iterable[TextsToJudge]) -> dict[str, tuple[NewOfferText, KeptDecision | None]]:
    """Return the newest text of each offer, and the decision that arrived with it."""
    newest: dict[str, tuple[NewOfferText, KeptDecision | None]] = {}
    for message in sent:
        for text in message.texts:
            key = offer_key(message.seller_id, message.namespace, text.external_id)
            known = newest.get(key)
            if known is None or known[0].content_version <= text.content_version:
                new = NewOfferText(
                    key,
                    message.seller_id,
                    message.namespace,
                    text.external_id,
                    text.title,
                    text.description,
                    text.text_hash,
                    text.content_version,
                    tuple(text.region_ids),
                )
                newest[key] = new, text.kept_decision if text.HasField("kept_decision") else None
    return newest
