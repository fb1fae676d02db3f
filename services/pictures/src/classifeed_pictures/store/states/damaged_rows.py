"""Unreadable rows: each is counted and logged, and all others are served (ADR 0086)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import structlog
from google.protobuf.message import DecodeError

from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.lifecycle.states import Holding
from classifeed_pictures.metrics import DAMAGED_ROWS
from classifeed_pictures.store.states.records import unpack_failure, unpack_holdings

_SQL: Final = load_queries(__package__, "damaged_rows.sql")
_log = structlog.get_logger(__name__)


def note_damaged(table: str, key: str, fix: str) -> None:
    """Count a damaged row, and log it with the fix."""
    DAMAGED_ROWS.labels(table).inc()
    _log.error("pictures.row.damaged", table=table, key=key, fix=fix)


def read_info(row: Any) -> PictureInfo | None:
    """Return the picture of a row of `stored_pictures`; None if it cannot be read."""
    try:
        return PictureInfo.FromString(row.info)
    except DecodeError:
        key = f"{row.namespace}/{row.group_id}/{row.name}"
        note_damaged("stored_pictures", key, "the picture is left out; request it again, or put it again")
        return None


def read_failure(row: Any) -> LoadFailure | None:
    """Return the failure of a row of `pictures`; None if there is none or it cannot be read."""
    try:
        return unpack_failure(row.failure)
    except DecodeError:
        note_damaged("pictures", bytes(row.url_hash).hex(), "its last failure is forgotten")
        return None


async def list_holdings(tx: Tx, rows: Collection[Any]) -> tuple[dict[bytes, dict[str, Holding]], frozenset[bytes]]:
    """Return the holdings of rows of `pictures` by hash, and the hashes of rebuilt ones.

    Damaged holdings are rebuilt from stored pictures and waiting requests.
    """
    found: dict[bytes, dict[str, Holding]] = {}
    damaged: set[bytes] = set()
    for row in rows:
        url_hash = bytes(row.url_hash)
        try:
            found[url_hash] = unpack_holdings(row.holdings)
        except DecodeError:
            found[url_hash] = {}
            damaged.add(url_hash)
    for url_hash in damaged:
        note_damaged("pictures", url_hash.hex(), "its holdings are rebuilt out of its stored pictures")
    if damaged:
        for row in await fetch_named(tx, _SQL["list_held"], {"url_hashes": sorted(damaged)}, prepare=False):
            holding = _holding_of(row)
            if holding is not None:
                found[bytes(row.url_hash)][row.namespace] = holding
    return found, frozenset(damaged)


def _holding_of(row: Any) -> Holding | None:
    if row.info is None:  # a request waits for the picture, which is ordered again
        return Holding(first_attempt=row.attempt)
    info = read_info(row)
    if info is None:
        return None
    return Holding(first_attempt=row.attempt, attempt=row.attempt, info=info, info_attempt=row.attempt)
