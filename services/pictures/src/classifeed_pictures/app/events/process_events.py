"""Processes events: changes the states of their pictures and sends orders and results, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from opentelemetry.context import Context

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.db import Tx, after_commit
from classifeed_common.outbox import Outbox
from classifeed_pictures.app.events.compose_messages import (
    adoption_notices,
    notice_messages,
    order_message,
    request_messages,
    result_messages,
)
from classifeed_pictures.domain.lifecycle.effects import Outcome, RequestResult, WaitingResult
from classifeed_pictures.domain.lifecycle.events import NOBODY, Event, GivenUp, Request, Unused
from classifeed_pictures.domain.lifecycle.lifecycle import Lifecycle
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.orders import Download
from classifeed_pictures.metrics import MARKS, ORDERS, REQUESTS, RESULTS
from classifeed_pictures.store.states import requests, settled
from classifeed_pictures.store.states.requests import Place
from classifeed_pictures.store.states.states import (
    StoredState,
    delete_states,
    forbid_scans,
    get_now,
    list_states,
    write_states,
)


@dataclass(frozen=True, slots=True)
class PictureEvents:
    """The events of one URL in order.

    Attributes:
        url: canonical URL or key.
        url_hash: hash of the URL.
        events: events in order.
        trace: trace of the resulting orders; None: the current one.
    """

    url: str
    url_hash: bytes
    events: Sequence[Event]
    trace: Context | None = None


async def process_events(
    tx: Tx, pictures: Sequence[PictureEvents], *, outbox: Outbox, rules: LifecycleRules
) -> list[Outcome]:
    """Apply the events of several URLs, each at most once in `pictures`; return their outcomes.

    May run again with the same events: they then change nothing, and the same results are sent again.

    Raises:
        StateChanged: another transaction has changed a state; roll back and retry.
    """
    await forbid_scans(tx)
    now = await get_now(tx)
    read = await list_states(tx, [picture.url_hash for picture in pictures])
    recipients = await settled.list_recipients(tx, [each.url_hash for each in pictures if _is_about_recipients(each)])
    lives = []
    for picture in pictures:
        known = read.get(picture.url_hash)
        before = known.state if known is not None else None
        life = Lifecycle(picture.url, picture.url_hash, before, now, rules, recipients.get(picture.url_hash, ()))
        lives.append(life.apply(picture.events))
    await _write(tx, read, pictures, lives)
    results, repeated = await _settle_requests(tx, pictures, lives, now=now)
    waiting = await _find_recipients(tx, pictures, lives)
    orders = [
        order_message(
            picture.url,
            picture.url_hash,
            order,
            recipient=waiting.get(picture.url_hash, ""),
            at=now,
            trace=picture.trace,
        )
        for picture, life in zip(pictures, lives, strict=True)
        for order in life.effects.orders
    ]
    # After the states are locked, so that the orders of a URL are sent in the order of its commits.
    adopting = [notice for life in lives for notice in adoption_notices(life.effects.adoptions)]
    await outbox.put(tx, [*orders, *result_messages(results), *request_messages(repeated), *notice_messages(adopting)])
    after_commit(tx, partial(_count, list(pictures), lives, results))
    after_commit(tx, partial(_count_marks, lives))
    return lives


async def _write(
    tx: Tx, read: dict[bytes, StoredState], pictures: Sequence[PictureEvents], lives: Sequence[Outcome]
) -> None:
    rebuilt = {url_hash for url_hash, known in read.items() if known.is_rebuilt}
    changed = [
        life for picture, life in zip(pictures, lives, strict=True) if life.is_changed or picture.url_hash in rebuilt
    ]
    await write_states(tx, read, [life.state for life in changed if life.state is not None])
    gone = [
        picture.url_hash
        for picture, life in zip(pictures, lives, strict=True)
        if life.is_changed and life.state is None
    ]
    await delete_states(tx, read, gone)


async def _settle_requests(
    tx: Tx, pictures: Sequence[PictureEvents], lives: Sequence[Outcome], *, now: datetime
) -> tuple[list[RequestResult], list[Request]]:
    """Settle waiting requests, delete and store others; return all results, and the requests to make again."""
    effects = {picture.url_hash: life.effects for picture, life in zip(pictures, lives, strict=True)}
    waiting = {
        (url_hash, namespace): result
        for url_hash, each in effects.items()
        for namespace, result in each.waiting.items()
    }
    changed = {
        (url_hash, namespace): result
        for url_hash, each in effects.items()
        for namespace, result in each.changed.items()
    }
    stored = [place for place, result in waiting.items() if isinstance(result.result, PictureInfo)]
    failed = {place: result.attempt for place, result in waiting.items() if place not in set(stored)}
    informed = await settled.list_settled(tx, changed, at=now)
    results = [RequestResult(request, changed[place].attempt, changed[place].result) for place, request in informed]
    taken: list[tuple[Place, Request]] = await requests.take_stored(tx, stored)
    reported = await requests.report_failed(tx, failed)
    results += [
        RequestResult(request, waiting[place].attempt, waiting[place].result) for place, request in [*taken, *reported]
    ]
    forgotten = [(url_hash, namespace) for url_hash, each in effects.items() for namespace in each.forgotten]
    await requests.forget(tx, forgotten)
    moves = {url_hash: each.moved_to for url_hash, each in effects.items() if each.moved_to}
    repeated = await requests.take_all(tx, list(moves))
    await settled.forget_settled(tx, forgotten)
    given_up = {
        (url_hash, *place): result for url_hash, each in effects.items() for place, result in each.given_up.items()
    }
    ended = [*await requests.end_given_up(tx, given_up), *await settled.end_given_up(tx, given_up, at=now)]
    ended += [(place, request) for place, request in taken if (*place, request.recipient) in given_up]
    results += [_ended(request, given_up[(*place, request.recipient)]) for place, request in ended]
    known = [(url_hash, request) for url_hash, each in effects.items() for request in each.settled]
    known += [(place[0], request) for place, request in taken if (*place, request.recipient) not in given_up]
    await settled.add_settled(tx, known)
    await settled.move_settled(tx, moves)
    await requests.remember(
        tx,
        [
            (url_hash, request, reported)
            for url_hash, each in effects.items()
            for request, reported in each.remembered.values()
        ],
    )
    results += [result for each in effects.values() for result in each.results]
    return results, [*repeated, *(request for each in effects.values() for request in each.repeated)]


def _is_about_recipients(picture: PictureEvents) -> bool:
    return any(isinstance(event, Unused | GivenUp) for event in picture.events)


def _ended(request: Request, result: WaitingResult) -> RequestResult:
    return RequestResult(request, result.attempt, result.result)


async def _find_recipients(tx: Tx, pictures: Sequence[PictureEvents], lives: Sequence[Outcome]) -> dict[bytes, str]:
    """Return one recipient that waits for each ordered picture, by the hash of its URL; a picture may have none."""
    ordered = {
        picture.url_hash: life.effects
        for picture, life in zip(pictures, lives, strict=True)
        if any(isinstance(order, Download) and order.held is None for order in life.effects.orders)
    }
    found = {
        url_hash: request.recipient
        for url_hash, effects in ordered.items()
        for request, _ in effects.remembered.values()
        if request.recipient != NOBODY
    }
    return found | await requests.list_recipients(tx, ordered.keys() - found.keys())


def _count(pictures: Sequence[PictureEvents], lives: Sequence[Outcome], results: Iterable[RequestResult]) -> None:
    for picture, life in zip(pictures, lives, strict=True):
        kinds = {type(order).__name__.lower() for order in life.effects.orders}
        outcome = next((kind for kind in ("download", "copy") if kind in kinds), "waiting")
        for event in picture.events:
            if isinstance(event, Request):
                is_known = any(result.request is event for result in life.effects.results)
                REQUESTS.labels("known" if is_known else outcome).inc()
        for order in life.effects.orders:
            is_refresh = isinstance(order, Download) and order.held is not None
            ORDERS.labels("refresh" if is_refresh else type(order).__name__.lower()).inc()
    for result in results:
        RESULTS.labels("stored" if isinstance(result.result, PictureInfo) else "failed").inc()


def _count_marks(lives: Sequence[Outcome]) -> None:
    for life in lives:
        before = life.before.delete_mark_at if life.before is not None else None
        after = life.state.delete_mark_at if life.state is not None else None
        if after is not None and after != before:
            MARKS.labels("set").inc()
        elif before is not None and after is None:
            MARKS.labels("cleared" if life.state is not None else "deleted").inc()
