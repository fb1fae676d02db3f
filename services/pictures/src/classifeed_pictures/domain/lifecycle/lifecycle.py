"""The state machine of a picture: how each event changes its state, and its effects. Events may be repeated or late."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from classifeed.pictures.v1.orders_pb2 import Unchanged
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_pictures.domain.lifecycle.effects import Effects, Outcome, RequestResult
from classifeed_pictures.domain.lifecycle.events import (
    NOBODY,
    Adopt,
    Deletion,
    Event,
    GivenUp,
    Loaded,
    Look,
    Move,
    Put,
    Request,
    Unused,
)
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.orders import Delete, Need, place_orders
from classifeed_pictures.domain.lifecycle.recipients import Recipient, are_only_offers
from classifeed_pictures.domain.lifecycle.refreshing import is_news, is_other, renewed
from classifeed_pictures.domain.lifecycle.retries import DELETED, OF_THE_NAMESPACE, SOURCE_GONE, is_lasting, is_repeated
from classifeed_pictures.domain.lifecycle.robots_tags import NOINDEX
from classifeed_pictures.domain.lifecycle.states import Holding, State


class Lifecycle:
    """The state machine of the picture of one URL.

    The transition of an event changes the state, adds effects, and returns the needed orders, which `apply` places.

    Args:
        url: canonical URL or key.
        url_hash: hash of the URL.
        before: stored state, which stays as it is; None: nothing is stored.
        now: time by the clock of the database.
        rules: times of the lifecycle.
        recipients: recipients of the stored requests; needed for `Unused` and `GivenUp` only.
    """

    def __init__(
        self,
        url: str,
        url_hash: bytes,
        before: State | None,
        now: datetime,
        rules: LifecycleRules,
        recipients: Iterable[Recipient] = (),
    ) -> None:
        self._url = url
        self._url_hash = url_hash
        self._now = now
        self._rules = rules
        self._recipients = set(recipients)
        self._before = before
        self._state = before.copy() if before is not None else None
        self._effects = Effects()

    def apply(self, events: Iterable[Event]) -> Outcome:
        """Apply events in order; return the new state with the effects of all events so far.

        Event times in the future are clamped to now: sender clocks are not trusted.
        """
        for event in events:
            need = self._change(event if event.at <= self._now else replace(event, at=self._now))
            if self._state is not None and need is not None:
                self._effects.orders += place_orders(self._state, need, self._now, self._rules)
        return Outcome(self._before, self._state, self._effects)

    def _change(self, event: Event) -> Need | None:
        state = self._state
        if state is None:
            if not isinstance(event, Request | Put | Adopt):
                self._come_too_late(event)
                return None
            # An adoption counts as a request at its time, so that no earlier comparison finds the picture unused.
            requested_at = event.at if isinstance(event, Adopt) else None
            state = self._state = State(self._url, self._url_hash, requested_at=requested_at)
        match event:
            case Request():
                return self._request(state, event)
            case Put():
                return self._put(state, event)
            case Adopt():
                return self._adopt(state, event)
            case Loaded():
                return self._loaded(state, event)
            case Look():
                return self._look(state, event)
            case Unused():
                self._unused(state, event)
            case Deletion():
                self._delete(state, event)
            case GivenUp():
                self._give_up(state, event)
            case Move():
                self._move(state, event)
        return None

    def _come_too_late(self, event: Event) -> None:
        """Delete what belongs to a deleted state: the picture of its order, or requests that a restore brought back."""
        if isinstance(event, Loaded) and isinstance(event.outcome, PictureInfo):
            self._effects.orders.append(Delete(event.outcome, event.attempt))
        elif isinstance(event, Unused | Deletion | GivenUp):
            self._effects.forgotten.add("")

    def _request(self, state: State, request: Request) -> Need | None:
        if request.recipient != NOBODY:
            self._recipients.add(Recipient(request.namespace, request.recipient, request.client))
        else:
            state.is_put = True
        holding = state.holdings.get(request.namespace)
        if holding is not None and holding.info is not None:
            state.note_use(request.at)
            self._effects.results.append(RequestResult(request, holding.info_attempt, holding.info))
            self._effects.settled.append(request)
            if (state.refresh_at is not None) == state.is_refreshed(self._rules):
                return None
            state.plan_refresh(self._now, self._rules)
            return Need()
        if holding is None:
            holding = state.add_holding(request.namespace, self._now)
        state.note_use(request.at)
        state.requested_at = max(request.at, state.requested_at or request.at)
        reported = 0
        if (known := state.known_failure(holding)) is not None:
            reported = known[0]
            self._effects.results.append(RequestResult(request, *known))
        self._effects.remembered[request.namespace, request.recipient, request.reference] = (request, reported)
        return Need(namespaces=(request.namespace,), is_requested=True, is_scheduled=False)

    def _loaded(self, state: State, event: Loaded) -> Need | None:
        outcome = event.outcome
        holding = state.holdings.get(event.namespace)
        if holding is None or event.attempt < holding.first_attempt:
            self._come_too_late(event)
            return None
        if isinstance(outcome, PictureInfo):
            return self._stored(state, holding, outcome, event.attempt, event.fresh_for)
        if holding.ordered_at is None or event.attempt < holding.attempt:
            return None  # a newer order is open, or has its result
        holding.ordered_at = None
        state.attempt = max(state.attempt, event.attempt)
        if isinstance(outcome, LoadFailure):
            return self._failed(state, holding, outcome, event)
        return self._unchanged(state, holding, outcome, event.fresh_for)

    def _stored(
        self, state: State, holding: Holding, info: PictureInfo, attempt: int, fresh_for: timedelta | None = None
    ) -> Need | None:
        held = holding.info
        if held is not None and attempt <= holding.info_attempt:
            if is_other(held, info):
                self._effects.orders.append(Delete(info, attempt))
            else:  # a restore of the table of requests may have brought back waiting ones
                self._effects.report(info.namespace, holding.info_attempt, held)
            return None
        if held is not None and is_other(held, info):
            self._effects.orders.append(Delete(held, holding.info_attempt))
        was_withdrawn = held is None and holding.info_attempt > 0
        holding.keep(info, attempt)
        state.attempt = max(state.attempt, attempt)
        state.clear_failure()
        if was_withdrawn or (held is not None and is_news(held, info)):
            self._effects.report_change(info.namespace, attempt, info)
        self._effects.report(info.namespace, attempt, info)
        if not holding.is_copy or state.refresh_at is None:
            state.plan_refresh(self._now, self._rules, fresh_for)
        return Need(is_shared=True)

    def _unchanged(self, state: State, holding: Holding, unchanged: Unchanged, fresh_for: timedelta | None) -> Need:
        state.clear_failure()
        if holding.info is not None:
            holding.info = renewed(holding.info, unchanged)
        state.plan_refresh(self._now, self._rules, fresh_for)
        return Need(is_shared=True)

    def _failed(self, state: State, holding: Holding, failure: LoadFailure, event: Loaded) -> Need:
        if failure.code == NOINDEX:
            self._withdraw(state, failure, event.attempt)
        if holding.info is not None:
            return Need() if holding.is_copy else self._not_refreshed(state, failure)
        if holding.is_copy and failure.code == SOURCE_GONE:
            return Need(download=event.namespace)
        if holding.is_copy or failure.code in OF_THE_NAMESPACE:
            holding.note_failure(failure, self._now)
            self._effects.report(event.namespace, event.attempt, failure)
            return Need(namespaces=(next(state.waiting(), event.namespace),), is_requested=True)
        state.note_failure(failure, self._now)
        if is_lasting(failure, state.failed_attempts):
            for namespace, other in state.holdings.items():
                if other.info is None:
                    self._effects.report(namespace, event.attempt, failure)
        return Need()

    def _withdraw(self, state: State, failure: LoadFailure, attempt: int) -> None:
        """Delete held pictures and notify those that show them: the host forbids it now."""
        for namespace, holding in state.holdings.items():
            if holding.info is not None:
                self._effects.orders.append(Delete(holding.info, max(holding.attempt, holding.info_attempt)))
                holding.info, holding.first_attempt = None, state.lowest_attempt(self._now)
                self._effects.report_change(namespace, attempt, failure)
        state.plan_refresh(self._now, self._rules)

    def _not_refreshed(self, state: State, failure: LoadFailure) -> Need:
        """Keep the held picture in spite of the failure; retry as after any failure."""
        state.note_failure(failure, self._now)
        state.plan_refresh(self._now, self._rules)
        if is_repeated(failure) and state.is_refreshed(self._rules):
            state.refresh_at = state.retry_at
        return Need(namespaces=tuple(state.waiting()), is_requested=True)

    @staticmethod
    def _look(state: State, event: Look) -> Need:
        for holding in state.holdings.values():
            if holding.attempt in event.lost_attempts:
                holding.ordered_at = None
        namespaces = tuple(state.holdings)
        return Need(namespaces=namespaces, is_forced=event.is_forced, is_refresh=event.is_refresh, is_check=True)

    def _unused(self, state: State, event: Unused) -> None:
        if state.is_put or (state.requested_at is not None and event.at <= state.requested_at):
            return
        held = (namespace for namespace, holding in state.holdings.items() if holding.info is not None)
        if not are_only_offers(self._recipients, held):
            return
        if state.delete_mark_at is None or event.at > state.delete_mark_at + self._rules.mark_lifetime:
            state.delete_mark_at = event.at
        elif event.at >= state.delete_mark_at + self._rules.delete_after:
            self._drop(state, "", LoadFailure(code=DELETED, message="No offer uses the picture, so it was deleted."))

    def _delete(self, state: State, event: Deletion) -> None:
        if state.requested_at is None or event.at > state.requested_at:
            failure = LoadFailure(code=DELETED, message="An operator has deleted the picture.")
            self._drop(state, event.namespace, failure)

    def _give_up(self, state: State, event: GivenUp) -> None:
        """End the requests of a recipient, and delete the picture if no other recipient needs it."""
        mine = {
            each
            for each in self._recipients
            if each.name == event.recipient and event.namespace in ("", each.namespace)
        }
        self._recipients -= mine
        needed = {each.namespace for each in self._recipients}
        failure = LoadFailure(code=DELETED, message="The recipient has given the picture up.")
        for namespace in sorted({each.namespace for each in mine}):
            if state.is_put or namespace in needed:
                attempt = state.next_attempt(self._now)
                self._effects.report_given_up(namespace, event.recipient, attempt, failure)
            else:
                self._drop(state, namespace, failure)

    def _drop(self, state: State, namespace: str, failure: LoadFailure) -> None:
        """Delete the picture of a namespace, or of all (empty); report the failure to all requests."""
        attempt = state.next_attempt(self._now)
        for name in [namespace] if namespace else list(state.holdings):
            holding = state.holdings.pop(name, None)
            if holding is not None and holding.info is not None:
                self._effects.orders.append(Delete(holding.info, max(holding.attempt, holding.info_attempt)))
            self._effects.report_end(name, attempt, failure)
        self._recipients = {each for each in self._recipients if namespace not in ("", each.namespace)}
        if not namespace:
            self._effects.forgotten.add("")
        if not state.holdings:
            self._state = None

    def _put(self, state: State, event: Put) -> Need | None:
        state.is_put = True
        holding = state.holdings.get(event.info.namespace) or state.add_holding(event.info.namespace, self._now)
        return self._stored(state, holding, event.info, state.next_attempt(self._now))

    def _move(self, state: State, event: Move) -> None:
        """Delete the key once the other key has all of its pictures; until then, have that key adopt them."""
        if state.has_open(self._now - self._rules.order_timeout):
            return  # open orders complete first, so that nothing is downloaded twice
        held = [holding.info for holding in state.holdings.values() if holding.info is not None]
        lacks_mark = bool(held) and state.is_put and not event.is_put
        if lacks_mark or not event.namespaces.issuperset(info.namespace for info in held):
            self._effects.adoptions[event.to_url] = Adopt(tuple(held), state.is_put, event.at)
            return
        for holding in state.holdings.values():
            if holding.info is not None:
                attempt = max(holding.attempt, holding.info_attempt)
                self._effects.orders.append(Delete(holding.info, attempt, event.to_hash))
        self._effects.note_move(event.to_hash)
        self._state = None

    @staticmethod
    def _adopt(state: State, event: Adopt) -> Need:
        state.is_put = state.is_put or event.is_put
        return Need(adopted=event.pictures)
