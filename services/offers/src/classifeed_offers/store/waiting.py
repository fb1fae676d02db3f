"""Changes that the guard has set aside until the end of their run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from classifeed.feeds.v1.load_pb2 import HeldPrice, LoadHold
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Tx, load_queries
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.effects import WaitingChange
from classifeed_offers.domain.offers import Namespace, Run
from classifeed_offers.domain.shifts import Changes
from classifeed_offers.store.runs import run_columns, run_values

_SQL: Final = load_queries(__package__, "waiting.sql")
_LOAD_CONTENTS = _SQL["load_contents"]
_FIND_AVAILABLE = _SQL["find_available"]
_SET_ASIDE = _SQL["set_aside"]
_COUNT_WAITING = _SQL["count_waiting"]
_SUM_BATCHES = _SQL["sum_batches"]
_FIND_MIDDLE = _SQL["find_middle"]
_SAMPLE_MOVED = _SQL["sample_moved"]
_MAKE_CHANGES = _SQL["make_changes"]

_SAMPLE_PRICES: Final = 10
_TITLE_CHARS: Final = 200


class StoredContent(NamedTuple):
    """Content of an offer, the content that the search shows if it differs, and the PictureRecords."""

    content: bytes
    published_content: bytes | None
    pictures: bytes | None


async def list_contents(tx: Tx, offer_ids: Collection[int]) -> dict[int, StoredContent]:
    """Return the stored contents of offers, by offer id."""
    cursor = await tx.execute(_LOAD_CONTENTS, {"offer_ids": list(offer_ids)}, binary=True)
    return {offer_id: StoredContent(*row) for offer_id, *row in await cursor.fetchall()}


async def list_available(tx: Tx, runs: Collection[RunKey]) -> set[RunKey]:
    """Return the runs of `runs` that have an applied batch with an available offer."""
    rows = await (await tx.execute(_FIND_AVAILABLE, run_columns(runs))).fetchall()
    return {RunKey(Namespace(*row[:2]), Run(*row[2:])) for row in rows}


async def set_aside(tx: Tx, namespace: Namespace, changes_of: Sequence[tuple[int, WaitingChange]]) -> None:
    """Store waiting changes of offers, by offer id, one for each offer: a newer change replaces an older one.

    The caller holds the namespace's head.
    """
    changes = [it for _, it in changes_of]
    parameters = {
        "seller": namespace.seller_id,
        "namespace": namespace.namespace,
        "offer_ids": [offer_id for offer_id, _ in changes_of],
        "tasks": [it.run.task_id for it in changes],
        "runs": [it.run.run for it in changes],
        "before_hashes": [it.before_hash for it in changes],
        "contents": [it.state.content for it in changes],
        "hashes": [it.state.content_hash for it in changes],
        "statuses": [it.state.status.value for it in changes],
        "changes": [it.state.last_change.value for it in changes],
        "moderations": [it.state.moderation for it in changes],
        "price_ratios": [it.shift.price_ratio for it in changes],
        "turns_unavailable": [it.shift.becomes_unavailable for it in changes],
        "text_hashes": [it.state.text_hash for it in changes],
        "approved_text_hashes": [it.state.approved_text_hash for it in changes],
        "bans": [it.state.ban for it in changes],
        "published_contents": [it.state.published_content for it in changes],
        "change_pictures": [it.changes_pictures for it in changes],
        "ordinals": [it.state.last_ordinal for it in changes],
        "lines": [it.state.last_line for it in changes],
    }
    await tx.execute(_SET_ASIDE, parameters)


async def count_changes(tx: Tx, key: RunKey, price_factor: float) -> Changes:
    """Return the changes of a whole run, as far as the guard checks them; all zero if no change waits."""
    values = run_values(key) | {"factor": price_factor or None}
    row = await (await tx.execute(_COUNT_WAITING, values)).fetchone()
    assert row is not None
    waiting, moved, prices, turned = row
    if not waiting:
        return Changes()
    row = await (await tx.execute(_SUM_BATCHES, values)).fetchone()
    assert row is not None
    steady, has_available = row
    return Changes(waiting, moved, prices + steady, 0 if has_available else turned)


async def describe_changes(tx: Tx, key: RunKey, changes: Changes, price_factor: float) -> LoadHold:
    """Return counts and examples of a held run's waiting changes, without the reasons."""
    held = LoadHold(changes=changes.waiting, turned_unavailable=changes.turned_unavailable)
    if not changes.moved:
        return held
    values = run_values(key) | {"factor": price_factor}
    middle = await (await tx.execute(_FIND_MIDDLE, values)).fetchone()
    assert middle is not None
    held.moved_prices, held.changed_prices, held.price_ratio = changes.moved, changes.prices, middle[0]
    rows = await (await tx.execute(_SAMPLE_MOVED, values | {"limit": _SAMPLE_PRICES})).fetchall()
    for external_id, before, after in rows:
        old, new = OfferContent.FromString(before), OfferContent.FromString(after)
        price = HeldPrice(external_id=external_id, title=old.title[:_TITLE_CHARS], price=old.price)
        if new.HasField("price"):
            price.new_price.CopyFrom(new.price)
        held.sample_prices.append(price)
    return held


async def make_changes(tx: Tx, key: RunKey, limit: int) -> bool:
    """Make, delete and count the next waiting changes of a run; return False if none was left.

    The caller holds the namespace's head.
    """
    return (await tx.execute(_MAKE_CHANGES, run_values(key) | {"limit": limit})).rowcount > 0
