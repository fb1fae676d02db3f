"""Take texts of offers: store what is new, and report again what is decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import structlog

from classifeed.moderation.v1.offer_texts_pb2 import OfferTextJudged, TextsToJudge
from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_moderation.app.decisions.apply_verdicts import Rules
from classifeed_moderation.app.decisions.report_decisions import outcome_messages
from classifeed_moderation.domain.bans import ban_of
from classifeed_moderation.domain.subjects import Status, offer_key
from classifeed_moderation.domain.verdicts import from_json
from classifeed_moderation.store import offer_texts
from classifeed_moderation.store.offer_texts import NewOfferText

_log = structlog.get_logger(__name__)


async def take_offer_texts(tx: Tx, sent: Sequence[TextsToJudge], *, rules: Rules, outbox: Outbox) -> set[str]:
    """Store texts that are new, and put the outcomes of those that are decided into the outbox once more.

    Returns:
        The keys of the texts that are new: they are due.
    """
    texts = list(_newest(sent))
    if not texts:
        return set()
    added = await offer_texts.put_offer_texts(tx, texts)
    known = [text for text in texts if text.key not in added]
    if not known:
        return added
    decided = await offer_texts.find_decided(tx, known)
    _log.debug("moderation.texts.repeated", texts=len(known), decided=len(decided))
    judged = (((row.seller_id, row.namespace, row.external_id), judged_again(row, rules)) for row in decided)
    await outbox.put(tx, outcome_messages(judged))
    return added


def judged_again(row: Any, rules: Rules) -> OfferTextJudged:
    """Return the outcome of a text that is decided, as it was reported before."""
    judged = OfferTextJudged(
        external_id=row.external_id,
        text_hash=row.text_hash,
        status=f"MODERATION_STATUS_{row.status}",
        decision_id=row.decision_id,
    )
    judged.decide_time.FromDatetime(row.recorded_at)
    if row.status == Status.DISAPPROVED:
        reason = rules.value.reason_of(row.rule, from_json(row.verdicts))
        judged.ban.CopyFrom(ban_of(row.text, row.title_chars, reason, row.rule_set))
    return judged


def _newest(sent: Iterable[TextsToJudge]) -> Iterable[NewOfferText]:
    """Return the newest text of each offer."""
    newest: dict[str, NewOfferText] = {}
    for message in sent:
        for text in message.texts:
            key = offer_key(message.seller_id, message.namespace, text.external_id)
            known = newest.get(key)
            if known is None or known.content_version <= text.content_version:
                newest[key] = NewOfferText(
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
    return newest.values()
