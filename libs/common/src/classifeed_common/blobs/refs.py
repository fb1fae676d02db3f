"""BlobRefs: who needs which stored file, so that none is deleted under its user."""

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

    No service deletes a file of another's, so these two tables are all that a deletion has to look at (ADR 0037).

    A reference and the clean-up lock the same row of `blobs`. So either the reference comes first and the clean-up
    leaves the file, or the clean-up comes first, the file goes, and whoever refers to it afterwards puts it again.
    Always refer first, then put.
    """

    async def add(self, tx: Tx, sha256: str, ref: str) -> None:
        """Note that `ref` needs the file; idempotent. Holds the file's row until the transaction ends."""
        await self.add_many(tx, [(sha256, ref)])

    async def add_many(self, tx: Tx, pairs: Collection[tuple[str, str]]) -> frozenset[str]:
        """Note of each pair (hash, reference) that the reference needs the file; idempotent, repeated pairs too.

        Returns the hashes of files that nobody needed until now, which are hardly ever there.

        Holds the rows of the files until the transaction ends, all locked in order of their hash. So transactions with
        the same files do not deadlock, as long as each makes one call for all that it adds.
        """
        if not pairs:
            return frozenset()
        cursor = await tx.execute(SQL["touch_blobs"], {"sha256s": [sha256 for sha256, _ in pairs]})
        touched = await cursor.fetchall()
        await tx.execute(SQL["add_refs"], _columns(pairs))
        return frozenset(sha256 for sha256, ref_count in touched if ref_count == 0)

    async def drop(self, tx: Tx, *refs: str) -> None:
        """Note that `refs` need none of their files any more; idempotent. They go after the grace time, if at all.

        Locks as `add_many` does. What another transaction adds to them meanwhile stays.
        """
        cursor = await tx.execute(SQL["list_refs"], {"refs": list(refs)})
        await self.drop_many(tx, await cursor.fetchall())

    async def drop_many(self, tx: Tx, pairs: Collection[tuple[str, str]]) -> None:
        """Note of each pair (hash, reference) that the reference does not need the file any more; as `add_many`.

        A file that another transaction makes known meanwhile is left alone: its row could not be locked in order.
        """
        if not pairs:
            return
        cursor = await tx.execute(SQL["lock_blobs"], {"sha256s": [sha256 for sha256, _ in pairs]})
        locked = {sha256 for (sha256,) in await cursor.fetchall()}
        known = [pair for pair in pairs if pair[0] in locked]
        if known:
            await tx.execute(SQL["remove_refs"], _columns(known))

    async def list_needed(self, tx: Tx, *, after: str, limit: int) -> list[str]:
        """Return hashes of files that somebody needs, in their order from the one after `after` on. No effect."""
        cursor = await tx.execute(SQL["list_needed"], {"after": after, "limit": limit})
        return [sha256 for (sha256,) in await cursor.fetchall()]

    async def filter_needed(self, tx: Tx, hashes: Collection[str]) -> set[str]:
        """Return those of the hashes whose files somebody needs. No effect."""
        cursor = await tx.execute(SQL["filter_needed"], {"sha256s": list(hashes)})
        return {sha256 for (sha256,) in await cursor.fetchall()}

    async def sweep(self, database: Database, store: BlobStore, *, grace_s: float = GRACE_S, limit: int = 100) -> int:
        """Delete files that nobody has needed for the grace time and return how many; call again until 0.

        One transaction a file, held while the file is deleted: that lock is what keeps a new reference waiting until
        the file is gone for good. A crash in between leaves a row without a file, and the next sweep deletes it again.
        When cancelled it waits for the deletion under way, which is shorter than the server lets a transaction idle.

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
        """Note files of ours that no row knows as needed by nobody as of now, and return how many.

        Such are left by a database that went back, or by a put whose reference was rolled back. They have the whole
        grace time before a sweep takes them, and whoever refers to one meanwhile keeps it.

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
    """Await it to its end even when cancelled: the lock must outlive what is done under it."""
    deleting = asyncio.ensure_future(deletion)
    try:
        await asyncio.shield(deleting)
    except asyncio.CancelledError:
        await asyncio.wait([deleting])
        raise
