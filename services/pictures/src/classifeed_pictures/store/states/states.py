"""States of pictures: read, and written if they are unchanged since."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.lifecycle.states import Holding, State
from classifeed_pictures.store.states.damaged_rows import list_holdings, read_failure
from classifeed_pictures.store.states.records import pack_holdings

_SQL: Final = load_queries(__package__, "states.sql")


class StateChanged(Exception):
    """Another transaction has changed a state since it was read; read it again."""


@dataclass(frozen=True, slots=True)
class StoredState:
    """A state as it was read.

    Attributes:
        state: the state.
        revision: revision of its row; 0 if there is none.
        is_rebuilt: whether its row was damaged and must be written.
    """

    state: State
    revision: int
    is_rebuilt: bool = False


async def get_now(tx: Tx) -> datetime:
    """Return the time of the database."""
    [(now,)] = await (await tx.execute(_SQL["get_now"])).fetchall()
    return now  # type: ignore[no-any-return]


async def forbid_scans(tx: Tx) -> None:
    """Have the rest of the transaction find its rows by their keys (ADR 0058)."""
    await tx.execute(_SQL["forbid_scans"])


async def list_states(tx: Tx, url_hashes: Collection[bytes]) -> dict[bytes, StoredState]:
    """Return the existing states by hash. Nothing is locked."""
    rows = await fetch_named(tx, _SQL["list_states"], {"url_hashes": list(url_hashes)}, prepare=False)
    holdings, rebuilt = await list_holdings(tx, rows)
    hashes = [bytes(row.url_hash) for row in rows]
    return {
        url_hash: StoredState(_state_of(row, holdings[url_hash]), row.revision, url_hash in rebuilt)
        for url_hash, row in zip(hashes, rows, strict=True)
    }


async def write_states(tx: Tx, read: dict[bytes, StoredState], changed: Sequence[State]) -> None:
    """Write states that `list_states` returned, or new ones. Their rows stay locked until the transaction ends.

    Raises:
        StateChanged: one was changed since; nothing may be committed.
    """
    states = sorted(changed, key=lambda state: state.url_hash)
    known = [state for state in states if state.url_hash in read]
    new = [state for state in states if state.url_hash not in read]
    await _lock(tx, read, [state.url_hash for state in known])
    if new:
        parameters = _columns(new) | {"urls": [state.url for state in new]}
        if (await tx.execute(_SQL["insert_states"], parameters, prepare=False)).rowcount != len(new):
            raise StateChanged("A picture was requested elsewhere at the same time; it is read again.")
    if known:
        await tx.execute(_SQL["update_states"], _columns(known), prepare=False)


async def delete_states(tx: Tx, read: dict[bytes, StoredState], url_hashes: Sequence[bytes]) -> None:
    """Delete states that `list_states` returned.

    Raises:
        StateChanged: one was changed since; nothing may be committed.
    """
    gone = sorted(url_hash for url_hash in url_hashes if url_hash in read)
    await _lock(tx, read, gone)
    if gone:
        await tx.execute(_SQL["delete_states"], {"url_hashes": gone}, prepare=False)


async def list_keys(tx: Tx, *, after: bytes, limit: int) -> list[Any]:
    """Return states as rows (url_hash, url), in the order of their hashes."""
    return await fetch_named(tx, _SQL["list_keys"], {"after": after, "limit": limit}, prepare=False)


async def list_due(tx: Tx, *, after: tuple[datetime, bytes], limit: int) -> list[Any]:
    """Return due states as rows (next_attempt_at, url_hash, url), longest due first."""
    parameters = {"after_at": after[0], "after_hash": after[1], "limit": limit}
    return await fetch_named(tx, _SQL["list_due"], parameters, prepare=False)


async def _lock(tx: Tx, read: dict[bytes, StoredState], url_hashes: Sequence[bytes]) -> None:
    if not url_hashes:
        return
    cursor = await tx.execute(_SQL["lock_revisions"], {"url_hashes": list(url_hashes)}, prepare=False)
    found = {bytes(url_hash): revision for url_hash, revision in await cursor.fetchall()}
    if found != {url_hash: read[url_hash].revision for url_hash in url_hashes}:
        raise StateChanged("The state of a picture was changed elsewhere at the same time; it is read again.")


def _columns(states: Sequence[State]) -> dict[str, list[Any]]:
    return {
        "url_hashes": [state.url_hash for state in states],
        "are_put": [state.is_put for state in states],
        "attempts": [state.attempt for state in states],
        "attempts_at": [state.attempt_at for state in states],
        "next_attempts_at": [state.next_attempt_at for state in states],
        "failed_attempts": [state.failed_attempts for state in states],
        "failures": [None if state.failure is None else state.failure.SerializeToString() for state in states],
        "retries_at": [state.retry_at for state in states],
        "delete_marks_at": [state.delete_mark_at for state in states],
        "requests_at": [state.requested_at for state in states],
        "refreshes_at": [state.refresh_at for state in states],
        "holdings": [pack_holdings(state.holdings) for state in states],
    }


def _state_of(row: Any, holdings: dict[str, Holding]) -> State:
    return State(
        url=row.url,
        url_hash=bytes(row.url_hash),
        is_put=row.is_put,
        attempt=row.attempt,
        attempt_at=row.attempt_at,
        next_attempt_at=row.next_attempt_at,
        failed_attempts=row.failed_attempts,
        failure=read_failure(row),
        retry_at=row.retry_at,
        delete_mark_at=row.delete_mark_at,
        requested_at=row.requested_at,
        refresh_at=row.refresh_at,
        holdings=holdings,
    )
