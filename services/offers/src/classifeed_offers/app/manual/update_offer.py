"""Change an offer that is kept by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Database, Tx, after_commit
from classifeed_common.kafka import Message, message_of
from classifeed_common.outbox import Outbox
from classifeed_domain.offer_names import OfferName
from classifeed_domain.topics import MODERATION_REQUESTS, PICTURES_REQUESTS
from classifeed_offers.domain.decide import columns_of
from classifeed_offers.domain.moderation import Moderation, text_to_judge, texts_to_judge
from classifeed_offers.domain.offers import Change, Namespace, OfferState, Place, hash_of
from classifeed_offers.domain.patch import check_manual, check_mask, check_version, merge, offer_not_found
from classifeed_offers.domain.pictures import PicturePlan, plan_pictures, request_messages
from classifeed_offers.store import applying, judging, manual, reading
from classifeed_offers.store.reading import OfferRow

_audit: Final = structlog.get_logger("classifeed_offers.audit")


class UpdateOffer:
    """Changes the fields that a mask names, as a load would: a new text is judged, new pictures are requested.

    Args:
        database: database of the offers.
        outbox: sends texts and requests for pictures.
        moderation: decides the status of an offer by its text.
        requests_pictures: whether pictures are requested.
    """

    def __init__(self, database: Database, outbox: Outbox, moderation: Moderation, *, requests_pictures: bool) -> None:
        self._database = database
        self._outbox = outbox
        self._moderation = moderation
        self._requests_pictures = requests_pictures

    async def __call__(
        self, name: OfferName, content: OfferContent, paths: Sequence[str], *, version: int, timeout_s: float | None
    ) -> OfferRow:
        """Change the offer and return it; if nothing changes, the offer is returned unchanged.

        Args:
            name: name of the offer.
            content: new values.
            paths: names of the fields of OfferContent to change.
            version: version that the change was made from; 0: any.
            timeout_s: timeout of each statement, in seconds.

        Raises:
            InvalidArgument: the mask names no field, or the offer would be invalid.
            NotFound: the namespace does not have the offer.
            FailedPrecondition: the offer belongs to its feed.
            Aborted: the offer has changed since that version.
        """
        check_mask(paths)
        namespace = Namespace(name.seller_id, name.namespace)
        async with self._database.transaction(timeout_s=timeout_s) as tx:
            stored = await manual.find_locked(tx, namespace, name.external_id)
            if stored is None or not stored.state.exists:
                raise offer_not_found(name)
            check_manual(name, stored.state)
            merged = merge(stored.state, content, paths)
            if merged == OfferContent.FromString(stored.row.content):
                return stored.row  # a repeated request succeeds with any version
            check_version(name, stored.row.version, version)
            await self._write(tx, name, namespace, stored.state, merged)
            changed = await reading.find_offer(tx, namespace, name.external_id)
            assert changed is not None
            fields = sorted(set(paths))
            after_commit(tx, partial(_audit.info, "offer.changed", offer=str(name), fields=fields))
        self._outbox.wake()
        return changed

    async def _write(
        self, tx: Tx, name: OfferName, namespace: Namespace, before: OfferState, content: OfferContent
    ) -> None:
        standing = self._moderation.standing_of(content, before)
        content_version = await judging.next_content_version(tx)
        now = Timestamp()
        now.FromMicroseconds(content_version)
        plan = PicturePlan()
        if self._requests_pictures:
            plan = plan_pictures(content.picture_urls, before.pictures, place=Place(before.last_task_id), now=now)
        after = before._replace(
            content_hash=hash_of(content),
            content=content.SerializeToString(deterministic=True),
            # No load counts later verdicts about this offer.
            last_change=Change.MADE_MANUAL,
            pictures=plan.pictures,
            picture_faults=plan.faults,
            awaits_pictures=plan.is_awaited,
            **columns_of(standing),
        )
        await applying.update_offers(tx, [after])
        messages: list[Message] = []
        if standing.is_requested:
            text = text_to_judge(name.external_id, content, standing.text_hash, content_version)
            messages += [
                message_of(MODERATION_REQUESTS, it.seller_id.encode(), it) for it in texts_to_judge(namespace, [text])
            ]
        links = {name.external_id: plan.requested}
        messages += [
            message_of(PICTURES_REQUESTS, it.recipient.encode(), it) for it in request_messages(namespace, links, now)
        ]
        await self._outbox.put(tx, messages)
