"""The lifecycle of a picture: how each event changes its state, and its effects. Events may be repeated or late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from classifeed.pictures.v1.orders_pb2 import Unchanged
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_pictures.domain.lifecycle.events import (
    NOBODY,
    Adopt,
    Delete,
    Deletion,
    Effects,
    Event,
    GivenUp,
    Loaded,
    Look,
    Move,
    Put,
    Request,
    RequestResult,
    Unused,
)
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.ordering import Ordering
from classifeed_pictures.domain.lifecycle.recipients import Recipient, are_only_offers
from classifeed_pictures.domain.lifecycle.refreshing import is_news, is_other
from classifeed_pictures.domain.lifecycle.reporting import report, report_change, report_end, report_given_up
from classifeed_pictures.domain.lifecycle.retries import (
    DELETED,
    OF_THE_NAMESPACE,
    SOURCE_GONE,
    earliest_attempt,
    is_lasting,
    is_repeated,
)
from classifeed_pictures.domain.lifecycle.robots_tags import NOINDEX
from classifeed_pictures.domain.lifecycle.states import Holding, State


class Lifecycle:
    """Applies the events of one URL to its state, in order.

    Attributes:
        state: present state; None: nothing is stored.
        effects: effects of the events so far.

    Args:
        url: canonical URL or key.
        url_hash: hash of the URL.
        state: stored state, which is changed in place.
        now: time by the clock of the database.
        rules: times of the lifecycle.
        recipients: recipients of the stored requests; needed for `Unused` and `GivenUp` only.
    """

    def __init__(
        self,
        url: str,
        url_hash: bytes,
        state: State | None,
        now: datetime,
        rules: LifecycleRules,
        recipients: Iterable[Recipient] = (),
    ) -> None:
        self._url = url
        self._url_hash = url_hash
        self._now = now
        self._rules = rules
        self._recipients = set(recipients)
        self.state = state
        self.effects = Effects()
        self._ordering = Ordering(now, rules, self.effects.orders)
        self._is_changed = False

    @property
    def is_changed(self) -> bool:
        """Whether the state must be written."""
        return self._is_changed or self._ordering.is_changed

    def apply(self, event: Event) -> None:
        """Apply the next event. Event times in the future are clamped to now: sender clocks are not trusted."""
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
            case GivenUp():
                self._give_up(event)
            case Put():
                self._put(event)
            case Move():
                self._move(event)
            case Adopt():
                self._adopt(event)

    def _request(self, request: Request) -> None:
        if self.state is None:
            self.state = State(self._url, self._url_hash)
            self._is_changed = True
        state = self.state
        if request.recipient != NOBODY:
            self._recipients.add(Recipient(request.namespace, request.recipient, request.client))
        elif not state.is_put:
            state.is_put = self._is_changed = True
        holding = state.holdings.get(request.namespace)
        if holding is not None and holding.info is not None:
            self._note_use(state, request.at)
            self.effects.results.append(RequestResult(request, holding.info_attempt, holding.info))
            self.effects.settled.append(request)
            if (state.refresh_at is not None) != self._ordering.is_refreshed(state):
                self._ordering.plan_refresh(state)
                self._ordering.schedule(state)
            return
        if holding is None:
            holding = self._add_holding(state, request.namespace)
        self._note_use(state, request.at)
        if state.requested_at is None or request.at > state.requested_at:
            state.requested_at = request.at
            self._is_changed = True
        reported = self._report_known_failure(state, holding, request)
        self.effects.remembered[request.namespace, request.recipient, request.reference] = (request, reported)
        self._ordering.order_due(state, request.namespace, is_requested=True)

    def _note_use(self, state: State, at: datetime) -> None:
        """Clear the deletion mark, unless the mark is newer."""
        if state.delete_mark_at is not None and at > state.delete_mark_at:
            state.delete_mark_at = None
            state.requested_at = max(at, state.requested_at or at)
            self._is_changed = True

    def _report_known_failure(self, state: State, holding: Holding, request: Request) -> int:
        """Report a known lasting failure; return its attempt, or 0 if there is none."""
        failure, attempt = holding.failure, holding.attempt
        if failure is None and state.newest_info() is None and state.failure is not None:
            failure, attempt = state.failure, state.attempt
            if not is_lasting(failure, state.failed_attempts):
                return 0
        if failure is None:
            return 0
        self.effects.results.append(RequestResult(request, attempt, failure))
        return attempt

    def _loaded(self, event: Loaded) -> None:
        holding = self.state.holdings.get(event.namespace) if self.state is not None else None
        if self.state is None or holding is None or event.attempt < holding.first_attempt:
            # The state was deleted meanwhile, so the picture of this attempt is deleted, too.
            if isinstance(event.outcome, PictureInfo):
                self.effects.orders.append(Delete(event.outcome, event.attempt))
        elif isinstance(event.outcome, PictureInfo):
            self._stored(self.state, holding, event.outcome, event.attempt, event.fresh_for)
        elif holding.ordered_at is None or event.attempt < holding.attempt:
            pass  # a newer order is open, or has its result
        elif isinstance(event.outcome, Unchanged):
            self._unchanged(self.state, holding, event.outcome, event)
        else:
            self._failed(self.state, holding, event.outcome, event)

    def _stored(
        self, state: State, holding: Holding, info: PictureInfo, attempt: int, fresh_for: timedelta | None = None
    ) -> None:
        held = holding.info
        if held is not None and attempt <= holding.info_attempt:
            if is_other(held, info):
                self.effects.orders.append(Delete(info, attempt))
            else:  # a restore of the table of requests may have brought back waiting ones
                report(self.effects, info.namespace, holding.info_attempt, held)
            return
        if held is not None and is_other(held, info):
            self.effects.orders.append(Delete(held, holding.info_attempt))
        was_withdrawn = held is None and holding.info_attempt > 0
        holding.info, holding.info_attempt = info, attempt
        holding.failure, holding.retry_at, holding.failed_attempts = None, None, 0
        if attempt >= holding.attempt:
            holding.attempt, holding.ordered_at = attempt, None
        state.attempt = max(state.attempt, attempt)
        state.failure, state.failed_attempts, state.retry_at = None, 0, None
        self._is_changed = True
        if was_withdrawn or (held is not None and is_news(held, info)):
            report_change(self.effects, info.namespace, attempt, info)
        report(self.effects, info.namespace, attempt, info)
        if not holding.is_copy or state.refresh_at is None:
            self._ordering.plan_refresh(state, fresh_for)
        self._ordering.copy_to_others(state, are_refreshed=not state.is_put)
        self._ordering.schedule(state)

    def _unchanged(self, state: State, holding: Holding, unchanged: Unchanged, event: Loaded) -> None:
        holding.ordered_at = None
        state.attempt = max(state.attempt, event.attempt)
        state.failure, state.failed_attempts, state.retry_at = None, 0, None
        self._is_changed = True
        if holding.info is not None:
            holding.info.source_etag = unchanged.source_etag
            holding.info.source_last_modified = unchanged.source_last_modified
        self._ordering.plan_refresh(state, event.fresh_for)
        self._ordering.copy_to_others(state, are_refreshed=not state.is_put)
        self._ordering.schedule(state)

    def _failed(self, state: State, holding: Holding, failure: LoadFailure, event: Loaded) -> None:
        holding.ordered_at = None
        state.attempt = max(state.attempt, event.attempt)
        self._is_changed = True
        if failure.code == NOINDEX:
            self._withdraw(state, failure, event.attempt)
        if holding.info is not None:
            if not holding.is_copy:
                self._not_refreshed(state, failure)
        elif holding.is_copy and failure.code == SOURCE_GONE:
            self._ordering.download(state, event.namespace)
        elif holding.is_copy or failure.code in OF_THE_NAMESPACE:
            holding.failed_attempts += 1
            holding.failure = failure
            holding.retry_at = earliest_attempt(failure, holding.failed_attempts, self._now)
            report(self.effects, event.namespace, event.attempt, failure)
            self._ordering.order_due(state, next(iter(self._waiting(state)), event.namespace), is_requested=True)
        else:
            self._note_failure(state, failure)
            if is_lasting(failure, state.failed_attempts):
                for namespace, other in state.holdings.items():
                    if other.info is None:
                        report(self.effects, namespace, event.attempt, failure)
        self._ordering.schedule(state)

    def _withdraw(self, state: State, failure: LoadFailure, attempt: int) -> None:
        """Delete held pictures and notify those that show them: the host forbids it now."""
        for namespace, holding in state.holdings.items():
            if holding.info is None:
                continue
            self.effects.orders.append(Delete(holding.info, max(holding.attempt, holding.info_attempt)))
            holding.info, holding.first_attempt = None, self._ordering.lowest_attempt(state)
            report_change(self.effects, namespace, attempt, failure)
        self._ordering.plan_refresh(state)

    def _note_failure(self, state: State, failure: LoadFailure) -> None:
        state.failure, state.failed_attempts = failure, state.failed_attempts + 1
        state.retry_at = earliest_attempt(failure, state.failed_attempts, self._now)

    def _not_refreshed(self, state: State, failure: LoadFailure) -> None:
        """Keep the held picture in spite of the failure; retry as after any failure."""
        self._note_failure(state, failure)
        self._ordering.plan_refresh(state)
        if is_repeated(failure) and self._ordering.is_refreshed(state):
            self._ordering.set_refresh(state, state.retry_at)
        for namespace in list(self._waiting(state)):
            self._ordering.order_due(state, namespace, is_requested=True)

    def _look(self, event: Look) -> None:
        if self.state is None:
            return
        self._ordering.drop_orders(self.state, event.lost_attempts)
        for namespace, holding in list(self.state.holdings.items()):
            if holding.info is None:
                self._ordering.order_due(self.state, namespace, is_requested=False, is_forced=event.is_forced)
            elif event.is_refresh and not self.state.is_put and not self._ordering.is_under_way(holding):
                # One is enough: namespaces with the same picture share its files.
                self._ordering.download(self.state, namespace)
        self._ordering.refresh_if_due(self.state)
        self._ordering.schedule(self.state)

    def _unused(self, event: Unused) -> None:
        state = self.state
        if state is None:
            self._forget_all()
            return
        if state.is_put or (state.requested_at is not None and event.at <= state.requested_at):
            return
        held = (namespace for namespace, holding in state.holdings.items() if holding.info is not None)
        if not are_only_offers(self._recipients, held):
            return
        if state.delete_mark_at is None or event.at > state.delete_mark_at + self._rules.mark_lifetime:
            state.delete_mark_at = event.at
            self._is_changed = True
        elif event.at >= state.delete_mark_at + self._rules.delete_after:
            self._drop(state, "", LoadFailure(code=DELETED, message="No offer uses the picture, so it was deleted."))

    def _delete(self, event: Deletion) -> None:
        state = self.state
        if state is None:
            self._forget_all()
            return
        if state.requested_at is not None and event.at <= state.requested_at:
            return
        failure = LoadFailure(code=DELETED, message="An operator has deleted the picture.")
        self._drop(state, event.namespace, failure)

    def _give_up(self, event: GivenUp) -> None:
        """End the requests of a recipient, and delete the picture if no other recipient needs it."""
        state = self.state
        if state is None:
            self._forget_all()
            return
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
                attempt = self._ordering.next_attempt(state)
                report_given_up(self.effects, namespace, event.recipient, attempt, failure)
                self._is_changed = True
            else:
                self._drop(state, namespace, failure)

    def _forget_all(self) -> None:
        """Delete requests of a deleted picture: a restore of their table has brought them back."""
        self.effects.forgotten.add("")

    def _drop(self, state: State, namespace: str, failure: LoadFailure) -> None:
        """Delete the picture of a namespace, or of all (empty); report the failure to all requests."""
        attempt = self._ordering.next_attempt(state)
        for name in [namespace] if namespace else list(state.holdings):
            holding = state.holdings.pop(name, None)
            if holding is not None and holding.info is not None:
                self.effects.orders.append(Delete(holding.info, max(holding.attempt, holding.info_attempt)))
            report_end(self.effects, name, attempt, failure)
        self._recipients = {each for each in self._recipients if namespace not in ("", each.namespace)}
        if not namespace:
            self.effects.forgotten.add("")
        if not state.holdings:
            self.state = None
        self._is_changed = True

    def _put(self, event: Put) -> None:
        if self.state is None:
            self.state = State(self._url, self._url_hash)
        self.state.is_put = True
        holding = self.state.holdings.get(event.info.namespace) or self._add_holding(self.state, event.info.namespace)
        self._is_changed = True
        self._stored(self.state, holding, event.info, self._ordering.next_attempt(self.state))

    def _move(self, event: Move) -> None:
        """Delete the key once the other key has all of its pictures; until then, have that key adopt them."""
        state = self.state
        if state is None or any(map(self._ordering.is_under_way, state.holdings.values())):
            return  # open orders complete first, so that nothing is downloaded twice
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
        self.effects.moved_to = event.to_hash
        self.state = None
        self._is_changed = True

    def _adopt(self, event: Adopt) -> None:
        if self.state is None:
            # Counts as a request at that time, so that no earlier comparison finds it unused.
            self.state = State(self._url, self._url_hash, requested_at=event.at)
            self._is_changed = True
        state = self.state
        if event.is_put and not state.is_put:
            state.is_put = self._is_changed = True
        for info in event.pictures:
            holding = state.holdings.get(info.namespace) or self._add_holding(state, info.namespace)
            is_due = holding.retry_at is None or self._now >= holding.retry_at
            if holding.info is None and is_due and not self._ordering.is_under_way(holding):
                self._ordering.copy(state, info.namespace, info)
        self._ordering.schedule(state)

    def _add_holding(self, state: State, namespace: str) -> Holding:
        holding = state.holdings[namespace] = Holding(first_attempt=self._ordering.lowest_attempt(state))
        self._is_changed = True
        return holding

    def _waiting(self, state: State) -> Iterator[str]:
        """Yield the namespaces that get the picture as soon as any namespace has it."""
        return (name for name, holding in state.holdings.items() if holding.info is None and holding.failure is None)
