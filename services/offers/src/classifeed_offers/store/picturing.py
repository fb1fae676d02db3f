"""Results about pictures of offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_offers.domain.offers import Namespace, Place, Status
from classifeed_offers.domain.pictures import PictureChange, PicturePlan
from classifeed_offers.store.applying import forbid_scans

_SQL: Final = load_queries(__package__, "picturing.sql")


class PicturedOffer(NamedTuple):
    """An offer with its PictureRecords.

    Attributes:
        offer_id: id of the offer.
        external_id: the seller's id of the offer.
        status: status of the offer.
        last_place: place of the offer in the load that last changed it.
        pictures: its PictureRecords; None: it has none.
        changed_content: its content if its links have changed and were not requested yet; otherwise None.
        is_due: whether it has waited too long for a picture.
    """

    offer_id: int
    external_id: str
    status: str
    last_place: Place
    pictures: bytes | None
    changed_content: bytes | None
    is_due: bool

    @property
    def exists(self) -> bool:
        """Whether the seller has the offer."""
        return self.status != Status.REMOVED


class NextOffer(NamedTuple):
    """An offer in a pass over a namespace.

    Attributes:
        external_id: the seller's id of the offer.
        offer_id: id of the offer.
        last_place: place of the offer in the load that last changed it.
        unrequested_content: its content if it exists and its pictures were never requested; otherwise None.
        requested_pictures: its PictureRecords if it exists and the pass asks for them; otherwise None.
    """

    external_id: str
    offer_id: int
    last_place: Place
    unrequested_content: bytes | None
    requested_pictures: bytes | None


async def list_pictures(
    tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, wait_s: float = 0
) -> list[PicturedOffer]:
    """Return the namespace's offers with `external_ids`, including removed ones. The caller holds its head.

    Args:
        tx: transaction of the read.
        namespace: namespace of the offers.
        external_ids: the seller's ids of the offers.
        wait_s: seconds after which a result is due.
    """
    parameters = {
        "seller": namespace.seller_id,
        "namespace": namespace.namespace,
        "external_ids": list(external_ids),
        "wait_s": wait_s,
    }
    rows = await (await tx.execute(_SQL["load_pictures"], parameters)).fetchall()
    return [
        PicturedOffer(offer_id, external_id, status, Place(*place), pictures, changed_content, is_due)
        for offer_id, external_id, status, *place, pictures, changed_content, is_due in rows
    ]


async def save_results(tx: Tx, changes: Sequence[tuple[int, PictureChange]]) -> None:
    """Store the pictures of offers, by offer id, after results. The caller holds the heads."""
    parameters = _columns_of(changes) | {"are_shown": [change.is_shown for _, change in changes]}
    await tx.execute(_SQL["save_results"], parameters)


async def save_requests(tx: Tx, plans: Sequence[tuple[int, PicturePlan]]) -> None:
    """Store the pictures of offers, by offer id, as requested now. The caller holds the heads."""
    await tx.execute(_SQL["save_requests"], _columns_of(plans))


async def list_awaited(tx: Tx, *, wait_s: float, limit: int) -> dict[Namespace, list[str]]:
    """Return offers that have waited for a picture for longer than `wait_s`, by namespace."""
    rows = await (await tx.execute(_SQL["find_awaited"], {"wait_s": wait_s, "limit": limit})).fetchall()
    found: dict[Namespace, list[str]] = {}
    for seller_id, namespace, external_id in rows:
        found.setdefault(Namespace(seller_id, namespace), []).append(external_id)
    return found


async def count_awaited(tx: Tx) -> int:
    """Return the number of offers that wait for pictures.

    Run it in its own transaction: it forbids scans for the rest of the transaction.
    """
    await forbid_scans(tx)
    row = await (await tx.execute(_SQL["count_awaited"])).fetchone()
    assert row is not None
    return int(row[0])


async def next_offers(tx: Tx, namespace: Namespace, *, after: str, again: bool, limit: int) -> list[NextOffer]:
    """Return the next offers of a namespace in the order of their external ids.

    Args:
        tx: transaction of the read.
        namespace: namespace of the offers.
        after: external id of the last offer that was read; empty: none was.
        again: whether pictures that were requested before are included.
        limit: maximum number of offers.
    """
    parameters = {**namespace._asdict(), "after": after, "again": again, "limit": limit}
    rows = await (await tx.execute(_SQL["next_offers"], parameters)).fetchall()
    return [
        NextOffer(external_id, offer_id, Place(*place), content, pictures)
        for external_id, offer_id, *place, content, pictures in rows
    ]


async def next_namespaces(tx: Tx, *, after: Namespace, only_seller: str | None, limit: int) -> list[Namespace]:
    """Return the namespaces after `after` in order, all of them or those of one seller."""
    parameters = {**after._asdict(), "only_seller": only_seller, "limit": limit}
    rows = await (await tx.execute(_SQL["next_namespaces"], parameters)).fetchall()
    return [Namespace(*row) for row in rows]


def _columns_of(made: Sequence[tuple[int, PictureChange | PicturePlan]]) -> dict[str, Any]:
    return {
        "offer_ids": [offer_id for offer_id, _ in made],
        "pictures": [it.pictures for _, it in made],
        "picture_faults": [it.faults for _, it in made],
        "await_pictures": [it.is_awaited for _, it in made],
    }
