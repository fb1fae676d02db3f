"""BlobRefs: references to stored files; a referenced file is never deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Final

from classifeed_common.blobs.store import BlobStore
from classifeed_common.db import Database, Tx, load_queries

SQL = load_queries(__package__)
GRACE_S: Final = 24 * 60 * 60.0
_AUDIT_ROWS: Final = 1000


class BlobRefs:
    """References of one service to its own files, in its tables `blobs` and `blob_refs`.

    A service deletes only its own files, so a deletion checks only these two tables (ADR 0037).

    A new reference and the clean-up lock the same row of `blobs`. If the reference comes first, the clean-up keeps the
    file. If the clean-up comes first, the file is deleted, and the service that adds the reference puts the file again.
    Always add the reference before the put.
    """

    async def add(self, tx: Tx, sha256: str, ref: str) -> None:
        """Add a reference to a file; idempotent. Locks the file's row until the transaction ends."""
        await self.add_many(tx, [(sha256, ref)])

    async def add_many(self, tx: Tx, pairs: Collection[tuple[str, str]]) -> frozenset[str]:
        """Add references, given as pairs of hash and reference; idempotent, also for repeated pairs.

        Return the hashes of files that had no reference until now, and which the store hardly ever has.

        Locks the rows of the files until the transaction ends, in order of their hash. Transactions with the same files
        do not deadlock if each adds all its references in one call.
        """
        if not pairs:
            return frozenset()
        cursor = await tx.execute(SQL["touch_blobs"], {"sha256s": [sha256 for sha256, _ in pairs]})
        touched = await cursor.fetchall()
        await tx.execute(SQL["add_refs"], _columns(pairs))
        return frozenset(sha256 for sha256, ref_count in touched if ref_count == 0)

    async def drop(self, tx: Tx, *refs: str) -> None:
        """Remove all references with these names; idempotent. Unreferenced files are deleted after the grace time.

        Locks as `add_many` does. References that another transaction adds meanwhile stay.
        """
        cursor = await tx.execute(SQL["list_refs"], {"refs": list(refs)})
        await self.drop_many(tx, await cursor.fetchall())

    async def drop_many(self, tx: Tx, pairs: Collection[tuple[str, str]]) -> None:
        """Remove references, given as pairs of hash and reference; locks as `add_many` does.

        A file whose row another transaction inserts meanwhile is left alone: its row could not be locked in order.
        """
        if not pairs:
            return
        cursor = await tx.execute(SQL["lock_blobs"], {"sha256s": [sha256 for sha256, _ in pairs]})
        locked = {sha256 for (sha256,) in await cursor.fetchall()}
        known = [pair for pair in pairs if pair[0] in locked]
        if known:
            await tx.execute(SQL["remove_refs"], _columns(known))

    async def list_needed(self, tx: Tx, *, after: str, limit: int) -> list[str]:
        """Return hashes of referenced files in order, after `after`. Read-only."""
        cursor = await tx.execute(SQL["list_needed"], {"after": after, "limit": limit})
        return [sha256 for (sha256,) in await cursor.fetchall()]

    async def filter_needed(self, tx: Tx, hashes: Collection[str]) -> set[str]:
        """Return the hashes whose files have a reference. Read-only."""
        cursor = await tx.execute(SQL["filter_needed"], {"sha256s": list(hashes)})
        return {sha256 for (sha256,) in await cursor.fetchall()}

    async def sweep(self, database: Database, store: BlobStore, *, grace_s: float = GRACE_S, limit: int = 100) -> int:
        """Delete files that had no reference for the grace time, and return their number; call again until 0.

        Each file has its own transaction, which stays open while the file is deleted: its row lock makes a new
        reference wait until the deletion is complete. A crash in between leaves a row without a file; the next sweep
        deletes it again. A cancelled call waits for the deletion under way, which is shorter than the server's idle
        limit for transactions.

        Raises:
            Unavailable: the object store does not respond; the file stays for the next sweep.
        """
        deleted = 0
        while deleted < limit:
            async with database.transaction() as tx:
                cursor = await tx.execute(SQL["lock_unreferenced"], {"grace_s": grace_s})
                row = await cursor.fetchone()
                if row is None:
                    break
                await _finish(store.delete(row[0]))
                await tx.execute(SQL["delete_blob"], {"sha256": row[0]})
                deleted += 1
        return deleted

    async def audit(self, database: Database, store: BlobStore) -> int:
        """Insert a row without references for each stored file without a row, and return their number.

        Such files are left by a restored database, or by a put whose reference was rolled back. A sweep deletes them
        after the grace time, unless a reference is added meanwhile.

        Raises:
            Unavailable: the object store does not respond.
        """
        noted = 0
        hashes = await store.list_own()
        for start in range(0, len(hashes), _AUDIT_ROWS):
            async with database.transaction() as tx:
                cursor = await tx.execute(SQL["note_unknown"], {"sha256s": hashes[start : start + _AUDIT_ROWS]})
                noted += cursor.rowcount
        return noted


def _columns(pairs: Collection[tuple[str, str]]) -> dict[str, list[str]]:
    return {"sha256s": [sha256 for sha256, _ in pairs], "refs": [ref for _, ref in pairs]}


async def _finish(deletion: Coroutine[None, None, None]) -> None:
    """Complete the deletion even when cancelled: the row lock must outlive it."""
    deleting = asyncio.ensure_future(deletion)
    try:
        await asyncio.shield(deleting)
    except asyncio.CancelledError:
        await asyncio.wait([deleting])
        raise
