"""Orders for a picture: which of those that an event needs are due, their numbers, and the next check of the state.

A picture has one open download at a time, and no copy is ordered while its source is refreshed. The number of an
attempt therefore tells which bytes are newer, in any namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.retries import is_repeated
from classifeed_pictures.domain.lifecycle.states import State


@dataclass(frozen=True, slots=True)
class Download:
    """An order to download the picture into a namespace.

    Attributes:
        namespace: namespace that is to keep the picture.
        attempt: number of the order.
        held: picture that the namespace keeps; it is downloaded only if it has changed. None: download in any case.
    """

    namespace: str
    attempt: int
    held: PictureInfo | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """An order to copy a picture from another namespace."""

    source: PictureInfo
    namespace: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Delete:
    """An order to delete a stored picture, unless a later attempt has stored it again.

    Attributes:
        info: the picture.
        attempt: highest attempt that the order covers.
        moved_to: hash of the key that keeps the address as an alias; empty: none.
    """

    info: PictureInfo
    attempt: int
    moved_to: bytes = b""


Order: TypeAlias = Download | Copy | Delete


@dataclass(frozen=True, slots=True)
class Need:
    """The orders that an event needs.

    Attributes:
        namespaces: namespaces that get an order if they lack the picture, if the order is due, and if none is open.
        is_requested: whether a request needs them, so that also failures which nothing else repeats are due.
        is_forced: whether they count as due.
        is_refresh: whether a held picture of these namespaces is downloaded, too.
        download: namespace that gets a download even if it is not due; empty: none.
        adopted: pictures of another key to copy.
        is_shared: whether all namespaces that lack the newest picture get a copy of it.
        is_check: whether the held picture is downloaded again if its refresh is due.
        is_scheduled: whether the next check is scheduled even without an order.
    """

    namespaces: tuple[str, ...] = ()
    is_requested: bool = False
    is_forced: bool = False
    is_refresh: bool = False
    download: str = ""
    adopted: tuple[PictureInfo, ...] = ()
    is_shared: bool = False
    is_check: bool = False
    is_scheduled: bool = True


def place_orders(state: State, need: Need, now: datetime, rules: LifecycleRules) -> list[Order]:
    """Return the needed orders that are due; note them in the state, and schedule its next check."""
    lost_before = now - rules.order_timeout
    orders: list[Order] = list(_order_adopted(state, need.adopted, now, lost_before))
    for namespace in need.namespaces:
        orders += _order_due(state, namespace, need, now, lost_before)
    if need.download and state.open_download(lost_before) is None:
        orders.append(_download(state, need.download, now))
    if need.is_shared:
        orders += _order_copies(state, now, lost_before)
    if need.is_check:
        orders += _order_refresh(state, now, lost_before, rules)
    if orders or need.is_scheduled:
        state.next_attempt_at = _next_check(state, now, rules)
    return orders


def _order_adopted(
    state: State, pictures: tuple[PictureInfo, ...], now: datetime, lost_before: datetime
) -> Iterator[Copy]:
    for info in pictures:
        holding = state.holdings.get(info.namespace) or state.add_holding(info.namespace, now)
        is_due = holding.retry_at is None or now >= holding.retry_at
        if holding.info is None and is_due and not holding.is_open(lost_before):
            yield _copy(state, info.namespace, info, now)


def _order_due(
    state: State, namespace: str, need: Need, now: datetime, lost_before: datetime
) -> Iterator[Download | Copy]:
    holding = state.holdings[namespace]
    if holding.is_open(lost_before) or state.open_download(lost_before) is not None:
        return
    if holding.info is not None:
        if need.is_refresh and not state.is_put:
            # One is enough: namespaces with the same picture share its files.
            yield _download(state, namespace, now)
    elif holding.retry_at is not None and now < holding.retry_at and not need.is_forced:
        return
    elif (source := state.newest_info()) is not None:
        yield _copy(state, namespace, source, now)
    elif not state.has_open(lost_before) and (need.is_forced or _is_download_due(state, need, now)):
        yield _download(state, namespace, now)


def _is_download_due(state: State, need: Need, now: datetime) -> bool:
    if state.failure is None or state.retry_at is None:
        return True
    return now >= state.retry_at and (need.is_requested or is_repeated(state.failure))


def _order_copies(state: State, now: datetime, lost_before: datetime) -> Iterator[Copy]:
    """Yield copies of the newest picture for all that lack it; unless it was put, also for those with another one."""
    source = state.newest_info()
    if source is None:
        return
    for namespace, holding in state.holdings.items():
        if holding.is_open(lost_before):
            continue
        if holding.info is None or (not state.is_put and holding.info.content_hash != source.content_hash):
            yield _copy(state, namespace, source, now)


def _order_refresh(state: State, now: datetime, lost_before: datetime, rules: LifecycleRules) -> Iterator[Download]:
    """Yield a conditional download of the held picture, if its refresh is due and no order is open."""
    if state.refresh_at is None or now < state.refresh_at:
        return
    source = state.newest_info()
    if source is None or not state.is_refreshed(rules):
        state.refresh_at = None
    elif not state.has_open(lost_before):
        state.refresh_at = now + rules.order_timeout
        yield _download(state, source.namespace, now, held=source)


def _download(state: State, namespace: str, now: datetime, *, held: PictureInfo | None = None) -> Download:
    return Download(namespace, _open(state, namespace, now, is_copy=False), held)


def _copy(state: State, namespace: str, source: PictureInfo, now: datetime) -> Copy:
    return Copy(source, namespace, _open(state, namespace, now, is_copy=True))


def _open(state: State, namespace: str, now: datetime, *, is_copy: bool) -> int:
    """Note a new order of a namespace; return its number."""
    holding = state.holdings[namespace]
    holding.attempt = state.next_attempt(now)
    holding.ordered_at = state.attempt_at = now
    holding.is_copy = is_copy
    holding.failure, holding.retry_at = None, None
    return holding.attempt


def _next_check(state: State, now: datetime, rules: LifecycleRules) -> datetime | None:
    """Return when a pass over the states must check this one; None: never."""
    times = list(_times(state, now, rules))
    if state.refresh_at is not None:
        times.append(state.refresh_at)
    return min(times, default=None)


def _times(state: State, now: datetime, rules: LifecycleRules) -> Iterator[datetime]:
    lacking = [holding for holding in state.holdings.values() if holding.info is None]
    is_any = False
    for holding in lacking:
        if holding.ordered_at is not None:
            yield holding.ordered_at + rules.order_timeout
            is_any = True
        elif holding.retry_at is not None:
            yield holding.retry_at
            is_any = True
    if not lacking or is_any:
        return
    if (ordered_at := state.open_download(now - rules.order_timeout)) is not None:
        yield ordered_at + rules.order_timeout
    elif state.failure is None or state.newest_info() is not None:
        yield now  # the order that it waited for failed
    elif is_repeated(state.failure) and state.retry_at is not None:
        yield state.retry_at
