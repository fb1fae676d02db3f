"""Requests that wait for a picture."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.lifecycle.events import NOBODY, Request

_SQL: Final = load_queries(__package__, "requests.sql")

Place = tuple[bytes, str]
"""Hash of the URL and namespace."""


async def take_stored(tx: Tx, places: Collection[Place]) -> list[tuple[Place, Request]]:
    """Remove the requests that a stored picture settles, and return them."""
    return await _requests(tx, _SQL["take_stored"], columns_of(places))


async def report_failed(tx: Tx, attempts: Mapping[Place, int]) -> list[tuple[Place, Request]]:
    """Return the requests without a reported failure, and record this attempt's failure as reported."""
    return await _requests(tx, _SQL["report_failed"], columns_of(attempts) | {"attempts": list(attempts.values())})


async def take_all(tx: Tx, url_hashes: Collection[bytes]) -> list[Request]:
    """Remove and return all requests of pictures."""
    return [request for _, request in await _requests(tx, _SQL["take_all"], {"url_hashes": list(url_hashes)})]


async def forget(tx: Tx, places: Collection[Place]) -> None:
    """Remove the requests of deleted pictures; an empty namespace means all."""
    everywhere = [url_hash for url_hash, namespace in places if not namespace]
    if everywhere:
        await tx.execute(_SQL["forget_all"], {"url_hashes": everywhere}, prepare=False)
    if some := [place for place in places if place[1]]:
        await tx.execute(_SQL["forget_namespaces"], columns_of(some), prepare=False)


async def remember(tx: Tx, requests: Sequence[tuple[bytes, Request, int]]) -> None:
    """Store requests, each with the hash of its URL and the attempt whose failure was reported; idempotent."""
    if not requests:
        return
    parameters = {
        "url_hashes": [url_hash for url_hash, _, _ in requests],
        "namespaces": [request.namespace for _, request, _ in requests],
        "recipients": [request.recipient for _, request, _ in requests],
        "references": [request.reference for _, request, _ in requests],
        "requested_urls": [request.requested_url for _, request, _ in requests],
        "requests_at": [request.at for _, request, _ in requests],
        "reported_attempts": [reported for _, _, reported in requests],
        "clients": [request.client for _, request, _ in requests],
    }
    await tx.execute(_SQL["remember"], parameters, prepare=False)


async def end_given_up(tx: Tx, places: Collection[tuple[bytes, str, str]]) -> list[tuple[Place, Request]]:
    """Remove the requests of recipients, by hash of the URL, namespace and recipient, and return them."""
    columns = columns_of([place[:2] for place in places]) | {"recipients": [place[2] for place in places]}
    return await _requests(tx, _SQL["end_given_up"], columns)


async def count_in_flight(tx: Tx, url_hashes: Collection[bytes]) -> dict[bytes, int]:
    """Return the number of waiting requests per picture; pictures without any are left out."""
    cursor = await tx.execute(_SQL["count_in_flight"], {"url_hashes": list(url_hashes)}, prepare=False)
    return {bytes(url_hash): count for url_hash, count in await cursor.fetchall()}


async def list_recipients(tx: Tx, url_hashes: Collection[bytes]) -> dict[bytes, str]:
    """Return the recipient that has waited longest for each picture; pictures without one are left out."""
    if not url_hashes:
        return {}
    parameters = {"url_hashes": list(url_hashes), "nobody": NOBODY}
    cursor = await tx.execute(_SQL["list_recipients"], parameters, prepare=False)
    return {bytes(url_hash): recipient for url_hash, recipient in await cursor.fetchall()}


async def get_oldest_s(tx: Tx) -> float:
    """Return for how long the oldest request waits for its first result, in seconds; 0 if none waits."""
    [(oldest_s,)] = await (await tx.execute(_SQL["read_oldest"])).fetchall()
    return float(oldest_s or 0.0)


async def delete_reported(tx: Tx, *, before: datetime, limit: int) -> int:
    """Delete requests from before a time whose failure was reported; return their number."""
    return (await tx.execute(_SQL["delete_reported"], {"before": before, "limit": limit}, prepare=False)).rowcount


def columns_of(places: Collection[Place]) -> dict[str, list[Any]]:
    """Return places as parameters `url_hashes` and `namespaces`."""
    return {
        "url_hashes": [url_hash for url_hash, _ in places],
        "namespaces": [namespace for _, namespace in places],
    }


async def _requests(tx: Tx, statement: str, parameters: Mapping[str, Any]) -> list[tuple[Place, Request]]:
    if not parameters["url_hashes"]:
        return []
    rows = await fetch_named(tx, statement, parameters, prepare=False)
    return [
        (
            (bytes(row.url_hash), row.namespace),
            Request(row.namespace, row.recipient, row.reference, row.requested_url, row.requested_at, row.client),
        )
        for row in rows
    ]
