"""Reads and writes of the registry. The statement of a write also appends the queue's elements."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_receiver.domain.documents import NewDocument, ShardPosition, Status, StoredDocument
from classifeed_receiver.store.arrays import array_of
from classifeed_receiver.store.compression import CorruptContent, compress
from classifeed_receiver.store.kept_documents import KeptDocument, checksum_of, is_live, mark_damaged, read_content

_SQL: Final = load_queries(__package__, "registry.sql")


async def write_documents(
    tx: Tx,
    client: str,
    documents: Sequence[NewDocument],
    *,
    compress_from_bytes: int,
    abandoned_epochs: Collection[int] = (),
) -> dict[str, ShardPosition]:
    """Write the documents that are fresher than the stored ones, and an element for each; return positions by key.

    It needs no transaction of the caller: it is one statement, or opens a transaction if documents have a trace. It
    locks rows in the order given: pass the result of `select_candidates`. Rows in `abandoned_epochs` count as less
    fresh.
    """
    if not (traces := {document.pk: document.traceparent for document in documents if document.traceparent}):
        return await _write(tx, client, documents, compress_from_bytes, abandoned_epochs)
    async with tx.transaction():
        positions = await _write(tx, client, documents, compress_from_bytes, abandoned_epochs)
        if traced := [(position, traces[pk]) for pk, position in positions.items() if pk in traces]:
            parameters = {
                "client": client,
                "shards": [position.shard for position, _ in traced],
                "idxs": [position.idx for position, _ in traced],
                "traceparents": [traceparent for _, traceparent in traced],
            }
            await tx.execute(_SQL["trace_elements"], parameters)
        return positions


async def _write(
    tx: Tx,
    client: str,
    documents: Sequence[NewDocument],
    compress_from_bytes: int,
    abandoned_epochs: Collection[int],
) -> dict[str, ShardPosition]:
    kept = [compress(document.content, from_bytes=compress_from_bytes) for document in documents]
    cursor = await tx.execute(
        _SQL["write_documents"],
        {
            "client": client,
            "count": len(documents),
            "abandoned": array_of(abandoned_epochs),
            "hashes": array_of(document.pk_hash for document in documents),
            "pks": [document.pk for document in documents],
            "epochs": array_of(document.freshness.epoch for document in documents),
            "versions": array_of(document.freshness.version for document in documents),
            "modify_timestamps": array_of(document.freshness.modify_timestamp for document in documents),
            "statuses": array_of(document.status.value for document in documents),
            "compressions": array_of(compression.value for compression, _ in kept),
            "expires_at": array_of(document.expires_at or "NULL" for document in documents),
            "documents": [content for _, content in kept],
            "checksums": array_of(
                checksum_of(document.pk, document.freshness, compression, content)
                for document, (compression, content) in zip(documents, kept, strict=True)
            ),
        },
    )
    return {pk: ShardPosition(shard, idx) for pk, shard, idx in await cursor.fetchall()}


async def list_stored(tx: Tx, client: str, documents: Sequence[NewDocument]) -> dict[str, StoredDocument]:
    """Return the stored rows of some documents by key; keys without a row are left out.

    Live rows that are found to be damaged are marked.
    """
    cursor = await tx.execute(
        _SQL["list_stored"],
        {
            "client": client,
            "hashes": [document.pk_hash for document in documents],
            "pks": [document.pk for document in documents],
        },
    )
    stored: dict[str, StoredDocument] = {}
    damaged: list[tuple[str, KeptDocument]] = []
    for pk, *columns in await cursor.fetchall():
        kept = KeptDocument(*columns)
        content = None
        if kept.status != Status.DAMAGED:
            try:
                content = read_content(pk, kept)
            except CorruptContent:
                damaged += [(pk, kept)] if is_live(kept) else []
        stored[pk] = StoredDocument(kept.freshness, content, is_removed=kept.status == Status.TOMBSTONE)
    await mark_damaged(tx, client, damaged)
    return stored


async def count_damaged(tx: Tx, *, keys: int, bound: int) -> dict[str, tuple[int, list[str]]]:
    """Return the number of damaged rows and their first `keys` keys by client; at most `bound` rows are counted."""
    cursor = await tx.execute(_SQL["count_damaged"], {"keys": keys, "bound": bound})
    return {client: (count, pks) for client, count, pks in await cursor.fetchall()}


async def expire_documents(tx: Tx, limit: int) -> int:
    """Turn up to `limit` expired documents into tombstones, with an element for each; return their number.

    Needs a transaction. Any number of processes may run it concurrently: each takes other documents.
    """
    rows = await (await tx.execute(_SQL["select_expired"], {"limit": limit})).fetchall()
    rows.sort()
    for client, group in groupby(rows, key=itemgetter(0)):
        keys = [(pk_hash, pk) for _, pk_hash, pk in group]
        await tx.execute(
            _SQL["expire_documents"],
            {
                "client": client,
                "count": len(keys),
                "hashes": [pk_hash for pk_hash, _ in keys],
                "pks": [pk for _, pk in keys],
            },
        )
    return len(rows)


async def delete_tombstones(tx: Tx, *, age_s: float, limit: int) -> int:
    """Remove up to `limit` tombstones older than `age_s` seconds; return their number."""
    cursor = await tx.execute(_SQL["delete_tombstones"], {"age_s": age_s, "limit": limit})
    return cursor.rowcount


async def count_abandoned(tx: Tx, client: str, epochs: Collection[int], bound: int) -> int:
    """Return the number of a client's documents in some epochs, at most `bound`. It reads the whole table."""
    parameters = {"client": client, "epochs": list(epochs), "bound": bound}
    row = await (await tx.execute(_SQL["count_abandoned"], parameters)).fetchone()
    return int(row[0]) if row else 0


async def count_expired(tx: Tx, bound: int) -> int:
    """Return the number of expired documents that are still live, at most `bound`."""
    cursor = await tx.execute(_SQL["count_expired"], {"bound": bound})
    row = await cursor.fetchone()
    return int(row[0]) if row else 0
