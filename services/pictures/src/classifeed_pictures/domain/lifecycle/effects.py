"""Effects of the events of a picture: orders, results, and what happens to stored requests."""

from __future__ import annotations

from dataclasses import dataclass, field

from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_pictures.domain.lifecycle.events import Adopt, Request
from classifeed_pictures.domain.lifecycle.orders import Order
from classifeed_pictures.domain.lifecycle.states import State


@dataclass(frozen=True, slots=True)
class RequestResult:
    """The result of a request."""

    request: Request
    attempt: int
    result: PictureInfo | LoadFailure


@dataclass(frozen=True, slots=True)
class WaitingResult:
    """The result for all stored requests of a namespace. A picture settles them; after a failure they keep waiting."""

    attempt: int
    result: PictureInfo | LoadFailure


@dataclass(slots=True)
class Effects:
    """Effects of the events of one URL.

    Attributes:
        orders: orders in sequence.
        results: results of requests that are not stored.
        waiting: results for the stored requests, by namespace; applied before `remembered` is stored.
        remembered: requests to store, each with the attempt whose failure was reported; 0 if none was.
        forgotten: namespaces whose stored requests are obsolete; "" means all. They are deleted before `remembered` is
            stored.
        adoptions: pictures that other keys are to adopt, by these keys.
        repeated: requests to send again, for the key that the rules make now.
        moved_to: hash of the key that has everything; empty if nothing has moved. Waiting stored requests are sent
            again, before `remembered` is stored; settled ones, also those of `settled`, are moved to that key.
        changed: replacement of a namespace's picture, or the reason why it is no longer kept, by namespace, for all
            stored requests that were settled with it. Read before `forgotten` is applied.
        settled: requests that were settled with a picture; they are stored, since their recipients get its changes.
        given_up: results for the stored requests of recipients that gave the picture up while others need it, by
            namespace and recipient. These requests are removed before `settled` and `remembered` are stored.
    """

    orders: list[Order] = field(default_factory=list)
    results: list[RequestResult] = field(default_factory=list)
    waiting: dict[str, WaitingResult] = field(default_factory=dict)
    remembered: dict[tuple[str, str, str], tuple[Request, int]] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    adoptions: dict[str, Adopt] = field(default_factory=dict)
    repeated: list[Request] = field(default_factory=list)
    moved_to: bytes = b""
    changed: dict[str, WaitingResult] = field(default_factory=dict)
    settled: list[Request] = field(default_factory=list)
    given_up: dict[tuple[str, str], WaitingResult] = field(default_factory=dict)

    def report(self, namespace: str, attempt: int, result: PictureInfo | LoadFailure) -> None:
        """Report a result to all waiting requests of a namespace: stored ones, and those of these events."""
        is_stored = isinstance(result, PictureInfo)
        known = self.waiting.get(namespace)
        if namespace not in self.forgotten and (known is None or isinstance(known.result, LoadFailure)):
            self.waiting[namespace] = WaitingResult(attempt, result)
        for key, (request, reported) in list(self.remembered.items()):
            if key[0] != namespace or (reported and not is_stored):
                continue
            self.results.append(RequestResult(request, attempt, result))
            if is_stored:
                self.settled.append(request)
                del self.remembered[key]
            else:
                self.remembered[key] = (request, attempt)

    def report_change(self, namespace: str, attempt: int, result: PictureInfo | LoadFailure) -> None:
        """Report the replacement of a picture to all settled requests of a namespace, including stored ones."""
        if namespace not in self.forgotten:
            self.changed[namespace] = WaitingResult(attempt, result)
        for request in self.settled:
            if request.namespace == namespace:
                self.results.append(RequestResult(request, attempt, result))

    def report_end(self, namespace: str, attempt: int, failure: LoadFailure) -> None:
        """Report the end of a picture to all requests of a namespace, waiting or settled, and delete them."""
        awaiting = [
            request for key, (request, reported) in self.remembered.items() if key[0] == namespace and not reported
        ]
        settled = [request for request in self.settled if request.namespace == namespace]
        self.results += [RequestResult(request, attempt, failure) for request in [*awaiting, *settled]]
        self.forgotten.add(namespace)
        self.settled = [request for request in self.settled if request.namespace != namespace]
        for key in [key for key in self.remembered if key[0] == namespace]:
            del self.remembered[key]
        # Stored requests get the failure, too, before they are deleted.
        self.waiting[namespace] = self.changed[namespace] = WaitingResult(attempt, failure)

    def report_given_up(self, namespace: str, recipient: str, attempt: int, failure: LoadFailure) -> None:
        """Report a failure to a recipient for all of its requests of a namespace, and delete them."""
        remembered = [key for key in self.remembered if key[:2] == (namespace, recipient)]
        ended = [self.remembered.pop(key)[0] for key in remembered]
        settled = [each for each in self.settled if (each.namespace, each.recipient) == (namespace, recipient)]
        self.settled = [each for each in self.settled if each not in settled]
        self.results += [RequestResult(request, attempt, failure) for request in [*ended, *settled]]
        self.given_up[namespace, recipient] = WaitingResult(attempt, failure)

    def note_move(self, to_hash: bytes) -> None:
        """Send waiting requests again, for the key that has everything now."""
        self.repeated += [request for request, _ in self.remembered.values()]
        self.remembered.clear()
        self.moved_to = to_hash


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of events.

    Attributes:
        before: state before the events; None: nothing was stored.
        state: state after the events; None: nothing is to be stored.
        effects: effects of the events.
    """

    before: State | None
    state: State | None
    effects: Effects

    @property
    def is_changed(self) -> bool:
        """Whether the state must be written."""
        return self.state != self.before
