"""Report decisions: as events for all listeners, and as outcomes for the owner of the offers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache, partial

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.moderation.v1.events_pb2 import ModerationEvent
from classifeed.moderation.v1.offer_texts_pb2 import OfferTextJudged, TextsJudged
from classifeed.moderation.v1.subject_pb2 import Ban, Tags
from classifeed.moderation.v1.subject_pb2 import Decision as DecisionMessage
from classifeed.moderation.v1.subject_pb2 import Verdict as VerdictMessage
from classifeed_common.db import Tx, after_commit
from classifeed_common.kafka import Message, message_of
from classifeed_common.outbox import Outbox
from classifeed_common.splitting import split_by_size
from classifeed_domain.topics import MODERATION_EVENTS, MODERATION_OUTCOMES
from classifeed_moderation.domain.bans import ban_of
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.domain.verdicts import Verdict, to_json
from classifeed_moderation.metrics import DECISIONS, SHOWN
from classifeed_moderation.store.decisions import Recorded

_EVENTS = {Kind.POINT: "point_moderated", Kind.COMMENT: "comment_moderated", Kind.OFFER: "offer_moderated"}


async def report_decisions(tx: Tx, outbox: Outbox, recorded: Sequence[Recorded]) -> None:
    """Put events and outcomes of applied decisions into the outbox, and count them after the commit."""
    applied = [item for item in recorded if item.decision.is_applied]
    messages = [_event_message(item) for item in applied]
    messages += outcome_messages(
        (item.decision.subject.address, _judged(item)) for item in applied if item.decision.subject.address is not None
    )
    await outbox.put(tx, messages)
    after_commit(tx, partial(_count, applied))


def outcome_messages(judged: Iterable[tuple[tuple[str, str, str], OfferTextJudged]]) -> list[Message]:
    """Return outcomes as messages, up to 100 texts of a namespace in each.

    Args:
        judged: outcomes with seller, namespace and external id of their offers.
    """
    by_namespace: dict[tuple[str, str], list[OfferTextJudged]] = {}
    for (seller_id, namespace, _), text in judged:
        by_namespace.setdefault((seller_id, namespace), []).append(text)
    messages = []
    for (seller_id, namespace), texts in by_namespace.items():
        for part in split_by_size(texts):
            outcomes = TextsJudged(seller_id=seller_id, namespace=namespace, texts=part)
            messages.append(message_of(MODERATION_OUTCOMES, seller_id.encode(), outcomes))
    return messages


def judged_text(
    external_id: str, text_hash: bytes, status: str, decision_id: int, recorded_at: datetime, ban: Ban | None
) -> OfferTextJudged:
    """Return the outcome of a text; `ban` says why it is refused."""
    return OfferTextJudged(
        external_id=external_id,
        text_hash=text_hash,
        status=f"MODERATION_STATUS_{status}",
        decision_id=decision_id,
        decide_time=_timestamp(recorded_at),
        ban=ban,
    )


def verdict_messages(verdicts: Sequence[Verdict]) -> list[VerdictMessage]:
    """Return verdicts as messages."""
    return [VerdictMessage(**fields) for fields in to_json(verdicts)]


def _count(applied: Sequence[Recorded]) -> None:
    for item in applied:
        subject, status = item.decision.subject, item.decision.judgement.status
        DECISIONS.labels(subject.kind.lower(), status.lower()).inc()
        is_shown_now = status is Status.APPROVED and (item.decision.is_first or subject.status is not status)
        if subject.author_role and is_shown_now:
            SHOWN.labels(subject.author_role.lower()).inc()


@lru_cache(maxsize=1024)
def _timestamp(moment: datetime) -> Timestamp:
    """Return a time as a message to copy; cached because building one is slow and each time occurs several times."""
    message = Timestamp()
    message.FromDatetime(moment)
    return message


def _judged(item: Recorded) -> OfferTextJudged:
    subject, judgement = item.decision.subject, item.decision.judgement
    assert subject.address is not None
    ban = None
    if judgement.reason is not None:
        ban = ban_of(subject.text, subject.title_chars, judgement.reason, item.rule_set)
    return judged_text(subject.address[2], subject.text_hash, judgement.status, item.decision_id, item.recorded_at, ban)


def _event_message(item: Recorded) -> Message:
    decision, subject, judgement = item.decision, item.decision.subject, item.decision.judgement
    value = DecisionMessage(
        decision_id=item.decision_id,
        key=subject.key,
        kind=f"SUBJECT_KIND_{subject.kind}",
        content_version=subject.content_version,
        status=f"MODERATION_STATUS_{judgement.status}",
        verdicts=verdict_messages(decision.verdicts),
        rule=judgement.rule,
        rule_set=item.rule_set,
        region_id=judgement.region_id,
        maker=f"DECISION_MAKER_{item.maker}",
        reviewer=item.reviewer,
        automatic=decision.is_automatic,
        applied=True,
        supersedes_id=subject.decision_id or 0,
        request_id=item.request_id,
    )
    value.decide_time.CopyFrom(_timestamp(item.decided_at))
    value.record_time.CopyFrom(_timestamp(item.recorded_at))
    if subject.kind is Kind.POINT:
        value.tags_before.CopyFrom(Tags(names=subject.tags))
        value.tags_after.CopyFrom(Tags(names=judgement.tags))
    event = ModerationEvent(name=_EVENTS[subject.kind], value=value)
    return message_of(MODERATION_EVENTS, subject.key.encode(), event)
