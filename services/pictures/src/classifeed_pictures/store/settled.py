"""Requests that a picture has settled: whoever made them hears of the picture that takes its place."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.lifecycle.events import NOBODY, Request
from classifeed_pictures.store.requests import Place, columns_of

SQL: Final = load_queries("classifeed_pictures.store", "settled.sql")
_HASH_BYTES: Final = 16


async def add_settled(tx: Tx, requests: Collection[tuple[bytes, Request]]) -> None:
    """Store settled requests, each with the hash of its URL; idempotent. Those of nobody are left out."""
    rows = {(url_hash, _hash_of(request)): request for url_hash, request in requests if request.recipient != NOBODY}
    if not rows:
        return
    parameters = {
        "url_hashes": [url_hash for url_hash, _ in rows],
        "request_hashes": [request_hash for _, request_hash in rows],
        "namespaces": [request.namespace for request in rows.values()],
        "recipients": [request.recipient for request in rows.values()],
        "references": [request.reference for request in rows.values()],
        "requested_urls": [request.requested_url for request in rows.values()],
    }
    await tx.execute(SQL["add_settled"], parameters, prepare=False)


async def list_settled(tx: Tx, places: Collection[Place], *, at: datetime) -> list[tuple[Place, Request]]:
    """Return the requests that pictures of these places have settled, as if they were made at `at`."""
    if not places:
        return []
    rows = await fetch_named(tx, SQL["list_settled"], columns_of(places), prepare=False)
    return [
        (
            (bytes(row.url_hash), row.namespace),
            Request(row.namespace, row.recipient, row.reference, row.requested_url, at),
        )
        for row in rows
    ]


async def move_settled(tx: Tx, moves: Mapping[bytes, bytes]) -> None:
    """Make settled requests those of other pictures; from which to which, by the hashes of their URLs."""
    if moves:
        parameters = {"url_hashes": list(moves), "moved_to": list(moves.values())}
        await tx.execute(SQL["move_settled"], parameters, prepare=False)


async def forget_settled(tx: Tx, places: Sequence[Place]) -> None:
    """Remove the settled requests of deleted pictures; an empty namespace means all."""
    everywhere = [url_hash for url_hash, namespace in places if not namespace]
    if everywhere:
        await tx.execute(SQL["forget_all_settled"], {"url_hashes": everywhere}, prepare=False)
    if some := [place for place in places if place[1]]:
        await tx.execute(SQL["forget_settled_namespaces"], columns_of(some), prepare=False)


def _hash_of(request: Request) -> bytes:
    parts = (request.namespace, request.recipient, request.reference, request.requested_url)
    # No part has a NUL: they come from texts of PostgreSQL's kind.
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
