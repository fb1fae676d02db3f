"""Finds the states of pictures by URLs in any form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from classifeed.pictures.v1.picture_pb2 import PictureState
from classifeed_common.db import Tx
from classifeed_common.pacing.yielding import map_yielding
from classifeed_pictures.domain.lifecycle.states import State
from classifeed_pictures.domain.urls.canonical import CanonicalRules, canonical_url, url_hash
from classifeed_pictures.domain.urls.sizes import check_size
from classifeed_pictures.store.states.requests import count_in_flight
from classifeed_pictures.store.states.states import list_states

Rules = Callable[[], CanonicalRules]


async def canonical_keys(urls: Sequence[str], rules: CanonicalRules) -> list[tuple[str, bytes]]:
    """Return the canonical form and the hash of each URL or key, in order. Other coroutines run in between.

    Call it before a connection is acquired: a thousand hostile URLs take seconds.

    Raises:
        InvalidArgument: URLS_TOO_LARGE.
    """
    check_size(urls)
    canonical = await map_yielding(partial(canonical_url, rules=rules), urls)
    return [(url, url_hash(url)) for url in canonical]


async def find_states(tx: Tx, keys: Sequence[tuple[str, bytes]]) -> list[PictureState]:
    """Return a state for each of the `canonical_keys`, in order; for unknown ones only URL and hash are set."""
    hashes = [key for _, key in keys]
    known = await list_states(tx, set(hashes))
    in_flight = await count_in_flight(tx, set(hashes) & set(known))

    def message_of(pair: tuple[str, bytes]) -> PictureState:
        url, key = pair
        if key not in known:
            return PictureState(url=url, url_hash=key)
        return _message(known[key].state, in_flight.get(key, 0))

    return await map_yielding(message_of, keys)


def _message(state: State, in_flight: int) -> PictureState:
    message = PictureState(
        url=state.url,
        url_hash=state.url_hash,
        known=True,
        pictures=[holding.info for _, holding in sorted(state.holdings.items()) if holding.info is not None],
        attempt=state.attempt,
        failed_attempts=state.failed_attempts,
        last_failure=state.failure,
        requests_in_flight=in_flight,
        put=state.is_put,
    )
    times = {
        "attempt_time": state.attempt_at,
        "next_attempt_time": state.next_attempt_at,
        "delete_mark_time": state.delete_mark_at,
        "request_time": state.requested_at,
        "refresh_time": state.refresh_at,
    }
    for field, at in times.items():
        if at is not None:
            getattr(message, field).FromDatetime(at)
    return message
