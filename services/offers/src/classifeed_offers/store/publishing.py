"""The publish mark of offers: statements for the pusher, and records about the receiver."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from classifeed.documents.v1.receiver_service_pb2 import StoredDocument
from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_domain.offer_names import OfferName
from classifeed_domain.publishing import Differences, Unequal
from classifeed_offers.domain.offers import Namespace

_SQL: Final = load_queries(__package__, "publishing.sql")
SELECT_DUE: Final = _SQL["select_due"]
ADVANCE: Final = _SQL["advance"]
# A push later than this after the start of a run is not part of the run's trace: a repair, or the rest of a large load.
_TRACE_AGE_S: Final = 3600.0


class Overtaken(NamedTuple):
    """An offer whose version at the receiver is above the newest version here."""

    offer_id: int
    version: int
    stored_version: int


class Refused(NamedTuple):
    """An offer whose document the receiver refuses, with the reasons."""

    offer_id: int
    version: int
    reasons: str


class RefusedOffer(NamedTuple):
    """A refused offer with its names."""

    seller_id: str
    namespace: str
    external_id: str
    version: int
    reasons: str
    refused_at: datetime


async def list_traces(tx: Tx, namespaces: Collection[Namespace]) -> dict[Namespace, dict[str, str]]:
    """Return the trace headers of each namespace's newest run, if it began recently."""
    parameters = {
        "sellers": [key.seller_id for key in namespaces],
        "namespaces": [key.namespace for key in namespaces],
        "age_s": _TRACE_AGE_S,
    }
    rows = await (await tx.execute(_SQL["select_traces"], parameters)).fetchall()
    return {Namespace(seller_id, namespace): kept for seller_id, namespace, kept in rows}


async def raise_versions(tx: Tx, overtaken: Sequence[Overtaken]) -> int:
    """Raise the versions of offers above the receiver's, unless they changed meanwhile; return the number raised."""
    parameters = {
        "offer_ids": [offer.offer_id for offer in overtaken],
        "versions": [offer.version for offer in overtaken],
        "stored": [offer.stored_version for offer in overtaken],
    }
    return (await tx.execute(_SQL["raise_versions"], parameters, prepare=False)).rowcount


async def find_unequal(tx: Tx, listed: Sequence[StoredDocument]) -> Differences:
    """Return the documents of the registry that differ from their offers."""
    names = [OfferName.of_document(each.pk) for each in listed]
    parameters = {
        "sellers": [name.seller_id for name in names],
        "namespaces": [name.namespace for name in names],
        "external_ids": [name.external_id for name in names],
        "versions": [each.version for each in listed],
        "removed": [each.removed for each in listed],
    }
    found = Differences()
    for row in await fetch_named(tx, _SQL["find_unequal"], parameters, prepare=False):
        if row.row_id is None:
            found.lost.append(listed[row.place])
        else:
            found.unequal.append(Unequal(row.row_id, row.version, row.stored_version))
    return found


async def publish_again(tx: Tx, unequal: Sequence[Unequal]) -> int:
    """Make offers due that differ from their documents, unless they changed meanwhile; return their number."""
    parameters = {
        "offer_ids": [row.row_id for row in unequal],
        "versions": [row.version for row in unequal],
        "stored": [row.stored_version for row in unequal],
    }
    return (await tx.execute(_SQL["publish_again"], parameters, prepare=False)).rowcount


async def refuse_documents(tx: Tx, refused: Sequence[Refused]) -> None:
    """Record the offers that the receiver refuses."""
    parameters = {
        "offer_ids": [offer.offer_id for offer in refused],
        "versions": [offer.version for offer in refused],
        "reasons": [offer.reasons for offer in refused],
    }
    await tx.execute(_SQL["refuse_documents"], parameters)


async def accept_documents(tx: Tx, offer_ids: Collection[int]) -> None:
    """Record that the receiver has the newest versions of these offers."""
    await tx.execute(_SQL["accept_documents"], {"offer_ids": list(offer_ids)})


async def count_refused(tx: Tx) -> int:
    """Return the number of offers that the receiver refuses."""
    row = await (await tx.execute(_SQL["count_refused"])).fetchone()
    return int(row[0]) if row else 0


async def list_refused(tx: Tx, limit: int) -> list[RefusedOffer]:
    """Return the most recently refused offers."""
    return [RefusedOffer(*row) for row in await (await tx.execute(_SQL["list_refused"], {"limit": limit})).fetchall()]
