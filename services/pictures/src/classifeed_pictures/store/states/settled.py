"""Requests that a picture has settled: their recipients get its replacements and its deletion."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.lifecycle.events import NOBODY, Request
from classifeed_pictures.domain.lifecycle.recipients import Recipient
from classifeed_pictures.store.states.requests import Place, columns_of

_SQL: Final = load_queries(__package__, "settled.sql")
_HASH_BYTES: Final = 16


async def add_settled(tx: Tx, requests: Collection[tuple[bytes, Request]]) -> None:
    """Store settled requests, each with the hash of its URL; idempotent. Requests without a recipient are left out.

    A row without a client, from an older release, gets the client when the same request is repeated.
    """
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
        "clients": [request.client for request in rows.values()],
    }
    await tx.execute(_SQL["add_settled"], parameters, prepare=False)


async def list_settled(tx: Tx, places: Collection[Place], *, at: datetime) -> list[tuple[Place, Request]]:
    """Return the settled requests of these places, with the time `at`."""
    if not places:
        return []
    return _requests(await fetch_named(tx, _SQL["list_settled"], columns_of(places), prepare=False), at)


async def list_recipients(tx: Tx, url_hashes: Collection[bytes]) -> dict[bytes, list[Recipient]]:
    """Return the recipients of pictures, of settled and waiting requests, by the hashes of their URLs."""
    found: dict[bytes, list[Recipient]] = defaultdict(list)
    if url_hashes:
        rows = await fetch_named(tx, _SQL["list_recipients"], {"url_hashes": list(url_hashes), "nobody": NOBODY})
        for row in rows:
            found[bytes(row.url_hash)].append(Recipient(row.namespace, row.recipient, row.client))
    return found


async def end_given_up(
    tx: Tx, places: Collection[tuple[bytes, str, str]], *, at: datetime
) -> list[tuple[Place, Request]]:
    """Remove the settled requests of recipients, by hash of the URL, namespace and recipient, and return them."""
    if not places:
        return []
    columns = columns_of([place[:2] for place in places]) | {"recipients": [place[2] for place in places]}
    return _requests(await fetch_named(tx, _SQL["end_given_up"], columns, prepare=False), at)


async def move_settled(tx: Tx, moves: Mapping[bytes, bytes]) -> None:
    """Move settled requests to other pictures, by the hashes of their URLs."""
    if moves:
        parameters = {"url_hashes": list(moves), "moved_to": list(moves.values())}
        await tx.execute(_SQL["move_settled"], parameters, prepare=False)


async def forget_settled(tx: Tx, places: Sequence[Place]) -> None:
    """Remove the settled requests of deleted pictures; an empty namespace means all."""
    everywhere = [url_hash for url_hash, namespace in places if not namespace]
    if everywhere:
        await tx.execute(_SQL["forget_all_settled"], {"url_hashes": everywhere}, prepare=False)
    if some := [place for place in places if place[1]]:
        await tx.execute(_SQL["forget_settled_namespaces"], columns_of(some), prepare=False)


def _requests(rows: Sequence[Any], at: datetime) -> list[tuple[Place, Request]]:
    return [
        (
            (bytes(row.url_hash), row.namespace),
            Request(row.namespace, row.recipient, row.reference, row.requested_url, at, row.client),
        )
        for row in rows
    ]


def _hash_of(request: Request) -> bytes:
    parts = (request.namespace, request.recipient, request.reference, request.requested_url)
    # No part contains a NUL, which PostgreSQL does not allow in text.
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
