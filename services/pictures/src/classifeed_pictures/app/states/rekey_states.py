"""Moves pictures to new keys after the rules have changed: sends notices to the old keys, slice by slice.

The shard of the old key applies a notice in the order of its events. It has the new key adopt the pictures that the new
key lacks, and removes the old state once nothing is lacking. A pass may therefore run again, and passes run until one
finds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog

from classifeed.pictures.v1.events_pb2 import MovePicture
from classifeed.pictures.v1.requests_pb2 import PictureNotice
from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import Slice
from classifeed_pictures.app.events.compose_messages import notice_messages
from classifeed_pictures.domain.lifecycle.states import State
from classifeed_pictures.domain.urls.canonical import CanonicalRules, url_hash
from classifeed_pictures.domain.urls.rekeying import rekeyed
from classifeed_pictures.store.events.canonical_rules import note_rekeyed, note_rules
from classifeed_pictures.store.states.states import get_now, list_keys, list_states

_log = structlog.get_logger(__name__)


async def rekey_states(
    tx: Tx,
    cursor: dict[str, Any] | None,
    rules: CanonicalRules,
    *,
    outbox: Outbox,
    limit: int,
    settle_s: float,
    order_timeout_s: float,
) -> Slice:
    """Send notices of the next states whose keys the rules no longer make.

    Args:
        tx: transaction with states and outbox.
        cursor: where to continue; None: begin a pass, if one is needed.
        rules: rules in force.
        outbox: outbox for the notices.
        limit: maximum number of states.
        settle_s: seconds after a change of the rules during which other processes may still send keys of the older
            rules. A pass that finds nothing is the last one only after this time.
        order_timeout_s: seconds after which an order without a result counts as lost.
    """
    if cursor is None:
        found = await note_rules(tx, rules, settle_s=settle_s)
        if found.is_rekeyed:
            return Slice(next=None)
        cursor = {"version": rules.version, "rules_id": found.rules_id, "is_settled": found.is_settled}
        cursor |= {"after": "", "left": 0}
    elif cursor["version"] != rules.version:
        return Slice(next=None)  # the next pass uses the new rules
    rows = await list_keys(tx, after=bytes.fromhex(cursor["after"]), limit=limit)
    moves = {row.url: key for row in rows if (key := rekeyed(row.url, rules)) is not None}
    await outbox.put(tx, notice_messages(await _notices(tx, moves, timedelta(seconds=order_timeout_s))))
    left = cursor["left"] + len(moves)
    if len(rows) == limit:
        return Slice(next=cursor | {"after": bytes(rows[-1].url_hash).hex(), "left": left}, processed=len(rows))
    is_over = not left and cursor["is_settled"]
    if is_over:
        await note_rekeyed(tx, cursor["rules_id"])
    _log.info("pictures.rekeying.pass", version=rules.version, left=left, is_over=is_over)
    return Slice(next=None, processed=len(rows))


async def _notices(tx: Tx, moves: dict[str, str], order_timeout: timedelta) -> Sequence[PictureNotice]:
    """Return notices of keys, each with its new key; none for a key while orders of its new key are open."""
    if not moves:
        return []
    now = await get_now(tx)
    known = await list_states(tx, {url_hash(key) for key in moves.values()})
    notices = []
    for url, key in moves.items():
        found = known.get(url_hash(key))
        state = found.state if found is not None else None
        if state is not None and _is_under_way(state, now - order_timeout):
            continue
        move = MovePicture(to_url=key)
        if state is not None:
            move.namespaces.extend(sorted(name for name, holding in state.holdings.items() if holding.info is not None))
            move.put = state.is_put
        notices.append(PictureNotice(url=url, exact=True, notice_time=now, move_picture=move))
    return notices


def _is_under_way(state: State, since: datetime) -> bool:
    return any(holding.ordered_at is not None and holding.ordered_at > since for holding in state.holdings.values())
