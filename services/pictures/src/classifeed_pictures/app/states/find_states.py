"""Find what is known of pictures, by URLs as anybody writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from classifeed.pictures.v1.picture_pb2 import PictureState
from classifeed_common.db import Tx
from classifeed_pictures.domain.lifecycle.states import State
from classifeed_pictures.domain.urls.canonical import CanonicalRules, canonical_url, url_hash
from classifeed_pictures.store.requests import count_in_flight
from classifeed_pictures.store.states import read_states

Rules = Callable[[], CanonicalRules]


async def find_states(tx: Tx, urls: Sequence[str], rules: CanonicalRules) -> list[PictureState]:
    """Return a state for each URL or key, in their order; of unknown ones only URL and hash are set."""
    canonical = [canonical_url(url, rules) for url in urls]
    hashes = [url_hash(url) for url in canonical]
    known = await read_states(tx, set(hashes))
    in_flight = await count_in_flight(tx, set(hashes) & set(known))
    return [
        _message(known[key].state, in_flight.get(key, 0)) if key in known else PictureState(url=url, url_hash=key)
        for url, key in zip(canonical, hashes, strict=True)
    ]


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
