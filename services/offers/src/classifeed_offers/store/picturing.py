"""Results about pictures of offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_offers.domain.offers import Namespace, Place, Status
from classifeed_offers.domain.pictures import PictureChange, PicturePlan
from classifeed_offers.store.applying import forbid_scans

SQL: Final = load_queries(__package__, "picturing.sql")


class PicturedOffer(NamedTuple):
    """An offer with its PictureRecords.

    Attributes:
        offer_id: its id.
        external_id: its id at the seller.
        status: where it stands.
        last_place: where the load has it that has changed it.
        pictures: its PictureRecords; None where it has none.
        changed_content: what it says, where its links have changed and nothing was requested yet; else None.
        is_due: whether it has waited for a picture for too long.
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
        """Whether the offer is there for its seller."""
        return self.status != Status.REMOVED


class NextOffer(NamedTuple):
    """An offer that a pass over a namespace comes to.

    Attributes:
        external_id: its id at the seller.
        offer_id: its id.
        last_place: where the load has it that has changed it.
        unrequested_content: what it says, where it exists and its pictures were never requested; else None.
        requested_pictures: its PictureRecords, where it exists and those are wanted; else None.
    """

    external_id: str
    offer_id: int
    last_place: Place
    unrequested_content: bytes | None
    requested_pictures: bytes | None


async def load_pictures(
    tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, wait_s: float = 0
) -> list[PicturedOffer]:
    """Return what the namespace has of `external_ids`, removed offers too. The caller holds its head.

    Args:
        wait_s: after so long a result is due.
    """
    parameters = {
        "seller": namespace.seller_id,
        "namespace": namespace.namespace,
        "external_ids": list(external_ids),
        "wait_s": wait_s,
    }
    rows = await (await tx.execute(SQL["load_pictures"], parameters)).fetchall()
    return [
        PicturedOffer(offer_id, external_id, status, Place(*place), pictures, changed_content, is_due)
        for offer_id, external_id, status, *place, pictures, changed_content, is_due in rows
    ]


async def save_results(tx: Tx, changes: Sequence[tuple[int, PictureChange]]) -> None:
    """Store what results have made of the pictures of offers, by their ids. The caller holds the heads."""
    parameters = _columns_of(changes) | {"are_shown": [change.is_shown for _, change in changes]}
    await tx.execute(SQL["save_results"], parameters)


async def save_requests(tx: Tx, plans: Sequence[tuple[int, PicturePlan]]) -> None:
    """Store what is awaited of offers, by their ids, as requested now. The caller holds the heads."""
    await tx.execute(SQL["save_requests"], _columns_of(plans))


async def find_awaited(tx: Tx, *, wait_s: float, limit: int) -> dict[Namespace, list[str]]:
    """Return offers that have waited for a picture for longer than `wait_s`, by namespace."""
    rows = await (await tx.execute(SQL["find_awaited"], {"wait_s": wait_s, "limit": limit})).fetchall()
    found: dict[Namespace, list[str]] = {}
    for seller_id, namespace, external_id in rows:
        found.setdefault(Namespace(seller_id, namespace), []).append(external_id)
    return found


async def count_awaited(tx: Tx) -> int:
    """Return how many offers wait for pictures.

    Belongs into a transaction, for the rest of which scans are forbidden.
    """
    await forbid_scans(tx)
    row = await (await tx.execute(SQL["count_awaited"])).fetchone()
    assert row is not None
    return int(row[0])


async def next_offers(tx: Tx, namespace: Namespace, *, after: str, again: bool, limit: int) -> list[NextOffer]:
    """Return the offers of a namespace whose external ids come after one, in their order.

    Args:
        after: external id of the last offer that was looked at; empty: none was.
        again: whether those with pictures that were requested come with them.
        limit: offers at once.
    """
    parameters = {**namespace._asdict(), "after": after, "again": again, "limit": limit}
    rows = await (await tx.execute(SQL["next_offers"], parameters)).fetchall()
    return [
        NextOffer(external_id, offer_id, Place(*place), content, pictures)
        for external_id, offer_id, *place, content, pictures in rows
    ]


async def next_namespaces(tx: Tx, *, after: Namespace, only_seller: str | None, limit: int) -> list[Namespace]:
    """Return the namespaces, all or those of a seller, that come after one, in their order."""
    parameters = {**after._asdict(), "only_seller": only_seller, "limit": limit}
    rows = await (await tx.execute(SQL["next_namespaces"], parameters)).fetchall()
    return [Namespace(*row) for row in rows]


def _columns_of(made: Sequence[tuple[int, PictureChange | PicturePlan]]) -> dict[str, Any]:
    return {
        "offer_ids": [offer_id for offer_id, _ in made],
        "pictures": [it.pictures for _, it in made],
        "picture_faults": [it.faults for _, it in made],
        "await_pictures": [it.is_awaited for _, it in made],
    }
