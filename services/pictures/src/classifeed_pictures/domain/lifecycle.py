"""The life of a picture: how each event changes its state, and what follows. Every event may come again, or late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_pictures.domain.events import (
    NOBODY,
    Adopt,
    Copy,
    Delete,
    Deletion,
    Download,
    Effects,
    Event,
    Loaded,
    Look,
    Move,
    Put,
    Request,
    RequestResult,
    Unused,
    WaitingResult,
)
from classifeed_pictures.domain.retries import OF_THE_NAMESPACE, SOURCE_GONE, earliest_attempt, is_lasting, is_repeated
from classifeed_pictures.domain.states import Holding, State


@dataclass(frozen=True, slots=True)
class LifecycleRules:
    """Times of the life of a picture.

    Attributes:
        order_timeout: After which an order without a result counts as lost.
        delete_after: How long after the first finding that a picture is unused a second one deletes it.
        mark_lifetime: After which a finding counts as the first one again: it may have been used in between.
    """

    order_timeout: timedelta = timedelta(hours=1)
    delete_after: timedelta = timedelta(hours=24)
    mark_lifetime: timedelta = timedelta(days=7)


class Lifecycle:
    """Applies the events of one URL, one after the other, to its state.

    Attributes:
        state: The state now; None: nothing is kept of it.
        effects: What follows from the events so far.
        is_changed: Whether the state must be written.

    Args:
        url: Canonical URL or key.
        url_hash: Its hash.
        state: As it is stored; it is changed in place.
        now: By the clock of the database.
        rules: Times.
    """

    def __init__(self, url: str, url_hash: bytes, state: State | None, now: datetime, rules: LifecycleRules) -> None:
        self._url = url
        self._url_hash = url_hash
        self._now = now
        self._rules = rules
        self.state = state
        self.effects = Effects()
        self.is_changed = False

    def apply(self, event: Event) -> None:
        """Apply the next event. None is later than now, whatever the clock of its sender."""
        if event.at > self._now:
            event = replace(event, at=self._now)
        match event:
            case Request():
                self._request(event)
            case Loaded():
                self._loaded(event)
            case Look():
                self._look(event)
            case Unused():
                self._unused(event)
            case Deletion():
                self._delete(event)
            case Put():
                self._put(event)
            case Move():
                self._move(event)
            case Adopt():
                self._adopt(event)

    def _request(self, request: Request) -> None:
        if self.state is None:
            self.state = State(self._url, self._url_hash)
            self.is_changed = True
        state = self.state
        if request.recipient == NOBODY and not state.is_put:
            state.is_put = self.is_changed = True
        holding = state.holdings.get(request.namespace)
        if holding is not None and holding.info is not None:
            self._note_use(state, request.at)
            self.effects.results.append(RequestResult(request, holding.info_attempt, holding.info))
            return
        if holding is None:
            holding = self._add_holding(state, request.namespace)
        self._note_use(state, request.at)
        if state.requested_at is None or request.at > state.requested_at:
            state.requested_at = request.at
            self.is_changed = True
        reported = self._report_known_failure(state, holding, request)
        self.effects.remembered[request.namespace, request.recipient, request.reference] = (request, reported)
        self._order_due(state, request.namespace, is_requested=True)

    def _note_use(self, state: State, at: datetime) -> None:
        """Clear the mark of a deletion, unless the mark is of a later time."""
        if state.delete_mark_at is not None and at > state.delete_mark_at:
            state.delete_mark_at = None
            state.requested_at = max(at, state.requested_at or at)
            self.is_changed = True

    def _report_known_failure(self, state: State, holding: Holding, request: Request) -> int:
        """Give the result of a failure that lasts; return its attempt, or 0."""
        failure, attempt = holding.failure, holding.attempt
        if failure is None and state.failure is not None and is_lasting(state.failure, state.failed_attempts):
            failure, attempt = state.failure, state.attempt
        if failure is None:
            return 0
        self.effects.results.append(RequestResult(request, attempt, failure))
        return attempt

    def _loaded(self, event: Loaded) -> None:
        holding = self.state.holdings.get(event.namespace) if self.state is not None else None
        if self.state is None or holding is None or event.attempt < holding.first_attempt:
            # It was deleted meanwhile, and so is what this attempt has stored.
            if isinstance(event.outcome, PictureInfo):
                self.effects.orders.append(Delete(event.outcome, event.attempt))
        elif isinstance(event.outcome, PictureInfo):
            self._stored(self.state, holding, event.outcome, event.attempt)
        else:
            self._failed(self.state, holding, event.outcome, event)

    def _stored(self, state: State, holding: Holding, info: PictureInfo, attempt: int) -> None:
        held = holding.info
        if held is not None and attempt <= holding.info_attempt:
            if _is_other(held, info):
                self.effects.orders.append(Delete(info, attempt))
            return
        if held is not None and _is_other(held, info):
            self.effects.orders.append(Delete(held, holding.info_attempt))
        holding.info, holding.info_attempt = info, attempt
        holding.failure, holding.retry_at = None, None
        if attempt >= holding.attempt:
            holding.attempt, holding.ordered_at = attempt, None
        state.attempt = max(state.attempt, attempt)
        state.failure, state.failed_attempts, state.retry_at = None, 0, None
        self.is_changed = True
        self._report(info.namespace, attempt, info)
        for namespace, other in state.holdings.items():
            if other.info is None and not self._is_under_way(other):
                self._order_copy(state, namespace, info)
        self._schedule(state)

    def _failed(self, state: State, holding: Holding, failure: LoadFailure, event: Loaded) -> None:
        if holding.ordered_at is None or event.attempt < holding.attempt:
            return
        holding.ordered_at = None
        state.attempt = max(state.attempt, event.attempt)
        self.is_changed = True
        if holding.info is not None:
            pass  # it stays as it is
        elif holding.is_copy and failure.code == SOURCE_GONE:
            self._download(state, event.namespace)
        elif holding.is_copy or failure.code in OF_THE_NAMESPACE:
            holding.failure, holding.retry_at = failure, earliest_attempt(failure, 1, self._now)
            self._report(event.namespace, event.attempt, failure)
            self._order_due(state, next(iter(self._waiting(state)), event.namespace), is_requested=True)
        else:
            state.failure, state.failed_attempts = failure, state.failed_attempts + 1
            state.retry_at = earliest_attempt(failure, state.failed_attempts, self._now)
            if is_lasting(failure, state.failed_attempts):
                for namespace, other in state.holdings.items():
                    if other.info is None:
                        self._report(namespace, event.attempt, failure)
        self._schedule(state)

    def _look(self, event: Look) -> None:
        if self.state is None:
            return
        for namespace, holding in list(self.state.holdings.items()):
            if holding.info is None:
                self._order_due(self.state, namespace, is_requested=False, is_forced=event.is_forced)
            elif event.is_refresh and not self.state.is_put and not self._is_under_way(holding):
                # One is enough: namespaces that have the same picture have the same files.
                self._download(self.state, namespace)
        self._schedule(self.state)

    def _unused(self, event: Unused) -> None:
        state = self.state
        if state is None or state.is_put or (state.requested_at is not None and event.at <= state.requested_at):
            return
        if state.delete_mark_at is None or event.at > state.delete_mark_at + self._rules.mark_lifetime:
            state.delete_mark_at = event.at
            self.is_changed = True
        elif event.at >= state.delete_mark_at + self._rules.delete_after:
            self._drop(state, "")

    def _delete(self, event: Deletion) -> None:
        state = self.state
        if state is not None and (state.requested_at is None or event.at > state.requested_at):
            self._drop(state, event.namespace)

    def _drop(self, state: State, namespace: str) -> None:
        for name in [namespace] if namespace else list(state.holdings):
            holding = state.holdings.pop(name, None)
            if holding is not None and holding.info is not None:
                self.effects.orders.append(Delete(holding.info, max(holding.attempt, holding.info_attempt)))
            self._forget(name)
        if not namespace:
            self.effects.forgotten.add("")
        if not state.holdings:
            self.state = None
        self.is_changed = True

    def _forget(self, namespace: str) -> None:
        self.effects.forgotten.add(namespace)
        self.effects.waiting.pop(namespace, None)
        for key in [key for key in self.effects.remembered if key[0] == namespace]:
            del self.effects.remembered[key]

    def _put(self, event: Put) -> None:
        if self.state is None:
            self.state = State(self._url, self._url_hash)
        self.state.is_put = True
        holding = self.state.holdings.get(event.info.namespace) or self._add_holding(self.state, event.info.namespace)
        self.is_changed = True
        self._stored(self.state, holding, event.info, self._next_attempt(self.state))

    def _move(self, event: Move) -> None:
        """End the key once the other one has all that it has; have that adopt what it lacks until then."""
        state = self.state
        if state is None or any(self._is_under_way(holding) for holding in state.holdings.values()):
            return  # what is under way ends first: nothing is downloaded twice
        held = [holding.info for holding in state.holdings.values() if holding.info is not None]
        lacks_mark = bool(held) and state.is_put and not event.is_put
        if lacks_mark or not event.namespaces.issuperset(info.namespace for info in held):
            self.effects.adoptions[event.to_url] = Adopt(tuple(held), state.is_put, event.at)
            return
        for holding in state.holdings.values():
            if holding.info is not None:
                attempt = max(holding.attempt, holding.info_attempt)
                self.effects.orders.append(Delete(holding.info, attempt, event.to_hash))
        self.effects.repeated += [request for request, _ in self.effects.remembered.values()]
        self.effects.remembered.clear()
        self.effects.is_moved = True
        self.state = None
        self.is_changed = True

    def _adopt(self, event: Adopt) -> None:
        if self.state is None:
            # As if it was requested then: no comparison from before finds it unused.
            self.state = State(self._url, self._url_hash, requested_at=event.at)
            self.is_changed = True
        state = self.state
        if event.is_put and not state.is_put:
            state.is_put = self.is_changed = True
        for info in event.pictures:
            holding = state.holdings.get(info.namespace) or self._add_holding(state, info.namespace)
            is_due = holding.retry_at is None or self._now >= holding.retry_at
            if holding.info is None and is_due and not self._is_under_way(holding):
                self._order_copy(state, info.namespace, info)
        self._schedule(state)

    def _report(self, namespace: str, attempt: int, result: PictureInfo | LoadFailure) -> None:
        """Give a result to all requests of a namespace that wait: the stored ones, and those of these events."""
        is_stored = isinstance(result, PictureInfo)
        known = self.effects.waiting.get(namespace)
        if namespace not in self.effects.forgotten and (known is None or isinstance(known.result, LoadFailure)):
            self.effects.waiting[namespace] = WaitingResult(attempt, result)
        for key, (request, reported) in list(self.effects.remembered.items()):
            if key[0] != namespace or (reported and not is_stored):
                continue
            self.effects.results.append(RequestResult(request, attempt, result))
            if is_stored:
                del self.effects.remembered[key]
            else:
                self.effects.remembered[key] = (request, attempt)

    def _order_due(self, state: State, namespace: str, *, is_requested: bool, is_forced: bool = False) -> None:
        """Order the picture for a namespace, if nothing is under way and its time has come."""
        holding = state.holdings[namespace]
        if holding.info is not None or self._is_under_way(holding):
            return
        if holding.retry_at is not None and self._now < holding.retry_at and not is_forced:
            return
        if (source := state.newest_info()) is not None:
            self._order_copy(state, namespace, source)
        elif not any(self._is_under_way(other) for other in state.holdings.values()) and (
            is_forced or self._is_download_due(state, is_requested=is_requested)
        ):
            self._download(state, namespace)
        else:
            return
        self._schedule(state)

    def _is_download_due(self, state: State, *, is_requested: bool) -> bool:
        if state.failure is None or state.retry_at is None:
            return True
        return self._now >= state.retry_at and (is_requested or is_repeated(state.failure))

    def _download(self, state: State, namespace: str) -> None:
        if any(self._is_under_way(other) and not other.is_copy for other in state.holdings.values()):
            return
        holding = self._order(state, namespace, is_copy=False)
        self.effects.orders.append(Download(namespace, holding.attempt))

    def _order_copy(self, state: State, namespace: str, source: PictureInfo) -> None:
        holding = self._order(state, namespace, is_copy=True)
        self.effects.orders.append(Copy(source, namespace, holding.attempt))

    def _order(self, state: State, namespace: str, *, is_copy: bool) -> Holding:
        holding = state.holdings[namespace]
        holding.attempt = self._next_attempt(state)
        holding.ordered_at = state.attempt_at = self._now
        holding.is_copy = is_copy
        holding.failure, holding.retry_at = None, None
        self.is_changed = True
        return holding

    def _add_holding(self, state: State, namespace: str) -> Holding:
        holding = state.holdings[namespace] = Holding(first_attempt=self._lowest_attempt(state))
        self.is_changed = True
        return holding

    def _next_attempt(self, state: State) -> int:
        state.attempt = self._lowest_attempt(state)
        return state.attempt

    def _lowest_attempt(self, state: State) -> int:
        """Return a number above all before, also above those of a state that was deleted, or before a restore."""
        return max(state.attempt + 1, int(self._now.timestamp() * 1_000_000))

    def _is_under_way(self, holding: Holding) -> bool:
        return holding.ordered_at is not None and self._now < holding.ordered_at + self._rules.order_timeout

    def _waiting(self, state: State) -> Iterator[str]:
        """Yield the namespaces that get the picture as soon as anybody has it."""
        return (name for name, holding in state.holdings.items() if holding.info is None and holding.failure is None)

    def _schedule(self, state: State) -> None:
        """Note when a pass over the states must look at this one."""
        lacking = [holding for holding in state.holdings.values() if holding.info is None]
        times = [
            holding.ordered_at + self._rules.order_timeout for holding in lacking if holding.ordered_at is not None
        ]
        times += [
            holding.retry_at for holding in lacking if holding.ordered_at is None and holding.retry_at is not None
        ]
        if not times and lacking:
            if state.failure is None:
                times.append(self._now)  # what it waited for brought nothing
            elif is_repeated(state.failure) and state.retry_at is not None:
                times.append(state.retry_at)
        due = min(times, default=None)
        if due != state.next_attempt_at:
            state.next_attempt_at = due
            self.is_changed = True


def _is_other(one: PictureInfo, other: PictureInfo) -> bool:
    return (one.namespace, one.group_id, one.name) != (other.namespace, other.group_id, other.name)
