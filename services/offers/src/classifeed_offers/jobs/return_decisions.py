"""The job `offers.return-decisions`: sends decisions back to moderation after its restore lost them (ADR 0102)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import BaseModel

from classifeed.moderation.v1.offer_texts_pb2 import KeptDecision, OfferText
from classifeed.moderation.v1.subject_pb2 import MODERATION_STATUS_APPROVED, MODERATION_STATUS_DISAPPROVED, Ban
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Tx, after_commit
from classifeed_common.kafka import message_of
from classifeed_common.outbox import Outbox
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_jobs import Exponential, JobContext, JobStore, Registry, Slice, SliceJob
from classifeed_offers.app.texts.check_decisions import StartReturn
from classifeed_offers.domain.moderation import text_to_judge, texts_to_judge
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.metrics import DECISIONS_RETURNED
from classifeed_offers.store import applying, judging
from classifeed_offers.store.republishing import OfferKey

TASK: Final = "offers.return-decisions"
QUEUE: Final = TASK
_SLICE_OFFERS: Final = 1000


class ReturnDecisionsArgs(BaseModel):
    """Start time of the decisions to send, in microseconds since 1970."""

    since_us: int

    @property
    def since(self) -> datetime:
        """Start time of the decisions to send."""
        return Timestamp(seconds=self.since_us // 10**6, nanos=self.since_us % 10**6 * 1000).ToDatetime(tzinfo=UTC)


def return_starter(store: JobStore) -> StartReturn:
    """Return a function that enqueues the job; jobs run one at a time, and are retried without limit."""

    async def start(tx: Tx, since: datetime) -> None:
        moment = Timestamp()
        moment.FromDatetime(since)
        args = ReturnDecisionsArgs(since_us=moment.ToMicroseconds())
        await store.enqueue(tx, QUEUE, TASK, args, lock_key=TASK, max_attempts=None)

    return start


def register_return(registry: Registry, outbox: Outbox, *, slice_offers: int = _SLICE_OFFERS) -> None:
    """Add the task to a registry."""

    async def send_slice(tx: Tx, args: ReturnDecisionsArgs, cursor: Sequence[str] | None, _ctx: JobContext) -> Slice:
        """Send decisions about the next offers, and request the verdicts of waiting ones at once."""
        after = OfferKey(*cursor) if cursor else OfferKey("", "", "")
        found = await judging.list_decided(tx, after=after, since=args.since, limit=slice_offers)
        wanted: dict[Namespace, list[str]] = {}
        for key, is_wanted in found:
            if is_wanted:
                wanted.setdefault(Namespace(key.seller_id, key.namespace), []).append(key.external_id)
        if wanted:
            await applying.lock_heads(tx, set(wanted))
        sent = 0
        for namespace, external_ids in wanted.items():
            await judging.request_at_once(tx, namespace, external_ids, since=args.since)
            sent += await _send(tx, outbox, namespace, external_ids, since=args.since)
        if wanted:
            after_commit(tx, partial(DECISIONS_RETURNED.inc, sent))
            after_commit(tx, outbox.wake)
        more: Any = found[-1][0] if len(found) == slice_offers else None
        return Slice(next=more, processed=sent)

    job = SliceJob(send_slice)
    registry.register(TASK, args=ReturnDecisionsArgs, backoff=Exponential(first_s=1, cap_s=60), resumes=True)(job.run)


async def _send(tx: Tx, outbox: Outbox, namespace: Namespace, external_ids: Sequence[str], *, since: datetime) -> int:
    rows = await judging.list_decided_texts(tx, namespace, external_ids, since=since)
    version = await judging.next_content_version(tx)
    texts = [_text(row, version) for row in rows]
    key = namespace.seller_id.encode()
    await outbox.put(tx, [message_of(MODERATION_REQUESTS, key, each) for each in texts_to_judge(namespace, texts)])
    return len(texts)


def _text(row: Any, version: int) -> OfferText:
    text = text_to_judge(row.external_id, OfferContent.FromString(row.content), row.text_hash, version)
    decision = KeptDecision(status=MODERATION_STATUS_APPROVED)
    if row.ban is not None:
        decision = KeptDecision(status=MODERATION_STATUS_DISAPPROVED, ban=Ban.FromString(row.ban))
    decision.decide_time.FromDatetime(row.text_decided_at)
    text.kept_decision.CopyFrom(decision)
    return text
