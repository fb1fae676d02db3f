"""Removes stored pictures that no state holds.

If a downloader is killed between storing a picture and reporting it, and the repeated download gets other bytes, the
first picture is never reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import structlog

from classifeed_common.blobs import BlobRefs
from classifeed_common.db import Tx, after_commit
from classifeed_jobs import Slice
from classifeed_pictures.app.files.store_picture import remove_stored
from classifeed_pictures.domain.lifecycle.states import Holding
from classifeed_pictures.metrics import ORPHANS
from classifeed_pictures.store.files.orphans import Address, StoredRow, list_after, lock_orphans, share_holdings
from classifeed_pictures.store.files.stored import reference_of

GRACE_S: Final = 86400.0
"""Seconds for which a stored picture may not have been reported yet."""
_BEGIN: Final = Address("", -1, "")
_REFS: Final = BlobRefs()
_log = structlog.get_logger(__name__)


async def check_stored(tx: Tx, cursor: Sequence[str] | None, *, limit: int) -> Slice:
    """Check the next stored pictures and remove those that no state holds, with their references. Idempotent.

    Pictures that were stored within a day stay. So do pictures of a URL whose order for the same namespace has no
    result yet, as that result may name them.

    Args:
        tx: transaction with the tables.
        cursor: where to continue; None: at the beginning.
        limit: maximum number of pictures.
    """
    after = _BEGIN if cursor is None else Address(cursor[0], int(cursor[1]), cursor[2])
    rows = await list_after(tx, after, grace_s=GRACE_S, limit=limit)
    await _remove_orphans(tx, [row for row in rows if row.is_old])
    if len(rows) < limit:
        return Slice(next=None, processed=len(rows))
    last = rows[-1].address
    return Slice(next=[last.namespace, str(last.group_id), last.name], processed=len(rows))


async def _remove_orphans(tx: Tx, rows: Sequence[StoredRow]) -> None:
    holdings = await share_holdings(tx, {row.url_hash for row in rows}) if rows else {}
    orphans = [row for row in rows if _is_orphan(row, holdings.get(row.url_hash, {}))]
    if not orphans:
        return
    url_hashes = {orphan.address: orphan.url_hash for orphan in orphans}
    removed = await lock_orphans(tx, orphans, grace_s=GRACE_S)
    references = [
        reference
        for address, attempt in removed
        for reference in await remove_stored(tx, url_hashes[address], address, attempt)
    ]
    await _REFS.drop(tx, *references)
    after_commit(tx, partial(_note, [reference_of(*address) for address, _ in removed]))


def _is_orphan(row: StoredRow, holdings: dict[str, Holding]) -> bool:
    holding = holdings.get(row.address.namespace)
    if holding is None:
        return True
    if holding.ordered_at is not None:
        return False
    held = holding.info
    return held is None or (held.group_id, held.name) != (row.address.group_id, row.address.name)


def _note(references: Sequence[str]) -> None:
    ORPHANS.inc(len(references))
    for reference in references:
        _log.warning("pictures.orphan.removed", picture=reference)
