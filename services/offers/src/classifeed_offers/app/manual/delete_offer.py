"""Remove an offer that is kept by hand."""

from __future__ import annotations

from functools import partial
from typing import Final

import structlog

from classifeed_common.db import Database, after_commit
from classifeed_domain.offer_names import OfferName
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.domain.patch import check_manual, check_version, offer_not_found
from classifeed_offers.store import manual, reading
from classifeed_offers.store.reading import OfferRow

_audit: Final = structlog.get_logger("classifeed_offers.audit")


async def delete_offer(database: Database, name: OfferName, *, version: int, timeout_s: float | None) -> OfferRow:
    """Remove the offer and return it; an offer that is removed already is returned unchanged.

    Args:
        database: database of the offers.
        name: name of the offer.
        version: version that the caller knows; 0: any.
        timeout_s: timeout of each statement, in seconds.

    Raises:
        NotFound: the namespace never had the offer.
        FailedPrecondition: the offer belongs to its feed.
        Aborted: the offer has changed since that version.
    """
    namespace = Namespace(name.seller_id, name.namespace)
    async with database.transaction(timeout_s=timeout_s) as tx:
        stored = await manual.find_locked(tx, namespace, name.external_id)
        if stored is None:
            raise offer_not_found(name)
        if not stored.state.exists:
            return stored.row
        check_manual(name, stored.state)
        check_version(name, stored.row.version, version)
        await manual.remove(tx, stored.state)
        removed = await reading.find_offer(tx, namespace, name.external_id)
        assert removed is not None
        after_commit(tx, partial(_audit.info, "offer.deleted", offer=str(name)))
    return removed
