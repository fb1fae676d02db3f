"""Creates and numbers orders for a picture, and schedules the next pass over its state."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_pictures.domain.lifecycle.events import Copy, Download, Order
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.refreshing import refresh_time
from classifeed_pictures.domain.lifecycle.retries import is_repeated
from classifeed_pictures.domain.lifecycle.states import Holding, State


class Ordering:
    """Orders of one URL.

    A picture has one open download at a time, and no copy is ordered while its source is refreshed. The number of an
    attempt therefore tells which bytes are newer, in any namespace.

    Attributes:
        orders: orders in sequence.
        is_changed: whether a state was changed.

    Args:
        now: time by the clock of the database.
        rules: times of the lifecycle.
        orders: list to which orders are added.
    """

    def __init__(self, now: datetime, rules: LifecycleRules, orders: list[Order]) -> None:
        self._now = now
        self._rules = rules
        self.orders = orders
        self.is_changed = False

    def order_due(self, state: State, namespace: str, *, is_requested: bool, is_forced: bool = False) -> None:
        """Order the picture for a namespace that lacks it, if it is due and no order is open."""
        holding = state.holdings[namespace]
        if holding.info is not None or self.is_under_way(holding):
            return
        if holding.retry_at is not None and self._now < holding.retry_at and not is_forced:
            return
        if self._download_under_way(state) is not None:
            return
        if (source := state.newest_info()) is not None:
            self.copy(state, namespace, source)
        elif not any(map(self.is_under_way, state.holdings.values())) and (
            is_forced or self._is_download_due(state, is_requested=is_requested)
        ):
            self.download(state, namespace)
        else:
            return
        self.schedule(state)

    def download(self, state: State, namespace: str, *, held: PictureInfo | None = None) -> None:
        """Order a download, unless one is open; with `held`, only if the picture differs from it."""
        if self._download_under_way(state) is None:
            holding = self._order(state, namespace, is_copy=False)
            self.orders.append(Download(namespace, holding.attempt, held))

    def copy(self, state: State, namespace: str, source: PictureInfo) -> None:
        """Order a copy of a picture for a namespace."""
        holding = self._order(state, namespace, is_copy=True)
        self.orders.append(Copy(source, namespace, holding.attempt))

    def copy_to_others(self, state: State, *, are_refreshed: bool) -> None:
        """Order copies of the newest picture for all that lack it; `are_refreshed`: also for those with another
        picture.
        """
        source = state.newest_info()
        if source is None:
            return
        for namespace, holding in state.holdings.items():
            if self.is_under_way(holding):
                continue
            if holding.info is None or (are_refreshed and holding.info.content_hash != source.content_hash):
                self.copy(state, namespace, source)

    def refresh_if_due(self, state: State) -> None:
        """Order a conditional download of the held picture, if its refresh is due and no order is open."""
        if state.refresh_at is None or self._now < state.refresh_at:
            return
        source = state.newest_info()
        if source is None or not self.is_refreshed(state):
            self.plan_refresh(state)
        elif not any(map(self.is_under_way, state.holdings.values())):
            self.download(state, source.namespace, held=source)
            self.set_refresh(state, self._now + self._rules.order_timeout)

    def plan_refresh(self, state: State, fresh_for: timedelta | None = None) -> None:
        """Schedule the refresh of a picture that is current now, considering the promise of its host."""
        after = self._rules.refresh_after
        if after is None or not self.is_refreshed(state):
            self.set_refresh(state, None)
        else:
            self.set_refresh(state, refresh_time(state.url_hash, self._now, after=after, fresh_for=fresh_for))

    def is_refreshed(self, state: State) -> bool:
        """Return whether a picture is refreshed: it is held, and was not put."""
        return self._rules.refresh_after is not None and not state.is_put and state.newest_info() is not None

    def set_refresh(self, state: State, at: datetime | None) -> None:
        """Set the time of the next refresh."""
        if state.refresh_at != at:
            state.refresh_at = at
            self.is_changed = True

    def next_attempt(self, state: State) -> int:
        """Return the number of a new order."""
        state.attempt = self.lowest_attempt(state)
        return state.attempt

    def lowest_attempt(self, state: State) -> int:
        """Return a number above all earlier ones, even those of a deleted state or from before a restore."""
        return max(state.attempt + 1, int(self._now.timestamp() * 1_000_000))

    def drop_orders(self, state: State, attempts: Collection[int]) -> None:
        """Stop waiting for the results of lost orders."""
        for holding in state.holdings.values():
            if holding.ordered_at is not None and holding.attempt in attempts:
                holding.ordered_at = None
                self.is_changed = True

    def is_under_way(self, holding: Holding) -> bool:
        """Return whether an order is open."""
        return holding.ordered_at is not None and self._now < holding.ordered_at + self._rules.order_timeout

    def schedule(self, state: State) -> None:
        """Set the time when a pass over the states must check this one."""
        times = list(self._times(state))
        if state.refresh_at is not None:
            times.append(state.refresh_at)
        due = min(times, default=None)
        if due != state.next_attempt_at:
            state.next_attempt_at = due
            self.is_changed = True

    def _times(self, state: State) -> Iterator[datetime]:
        lacking = [holding for holding in state.holdings.values() if holding.info is None]
        is_any = False
        for holding in lacking:
            if holding.ordered_at is not None:
                yield holding.ordered_at + self._rules.order_timeout
                is_any = True
            elif holding.retry_at is not None:
                yield holding.retry_at
                is_any = True
        if not lacking or is_any:
            return
        if (under_way := self._download_under_way(state)) is not None:
            yield under_way + self._rules.order_timeout
        elif state.failure is None or state.newest_info() is not None:
            yield self._now  # the order that it waited for failed
        elif is_repeated(state.failure) and state.retry_at is not None:
            yield state.retry_at

    def _is_download_due(self, state: State, *, is_requested: bool) -> bool:
        if state.failure is None or state.retry_at is None:
            return True
        return self._now >= state.retry_at and (is_requested or is_repeated(state.failure))

    def _download_under_way(self, state: State) -> datetime | None:
        """Return the time of the order of the open download."""
        for holding in state.holdings.values():
            if self.is_under_way(holding) and not holding.is_copy:
                return holding.ordered_at
        return None

    def _order(self, state: State, namespace: str, *, is_copy: bool) -> Holding:
        holding = state.holdings[namespace]
        holding.attempt = self.next_attempt(state)
        holding.ordered_at = state.attempt_at = self._now
        holding.is_copy = is_copy
        holding.failure, holding.retry_at = None, None
        self.is_changed = True
        return holding
