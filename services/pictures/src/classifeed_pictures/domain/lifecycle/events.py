"""Events of a picture, and their effects."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from classifeed.pictures.v1.orders_pb2 import Unchanged
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo

NOBODY: Final = "-"
"""Recipient of results that are not sent, but only stored in the states."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request for the picture; it is also stored while it waits.

    Attributes:
        namespace: namespace that is to keep the picture.
        recipient: recipient of the result.
        reference: text by which the recipient recognizes the result.
        requested_url: URL as the recipient wrote it.
        at: time of the request.
        client: see `Recipient`.
    """

    namespace: str
    recipient: str
    reference: str
    requested_url: str
    at: datetime
    client: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The outcome of an order.

    Attributes:
        namespace: namespace of the order.
        attempt: attempt of the order.
        outcome: the stored picture, the failure, or that the held picture is still current.
        at: time of the outcome.
        fresh_for: time for which the host promises no change; None: no promise.
    """

    namespace: str
    attempt: int
    outcome: PictureInfo | LoadFailure | Unchanged
    at: datetime
    fresh_for: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """The picture may be due for another attempt.

    Attributes:
        is_forced: whether to try even if it is not due.
        at: time of the check.
        is_refresh: whether to download it even if it is kept.
        lost_attempts: attempts whose orders were lost.
    """

    is_forced: bool
    at: datetime
    is_refresh: bool = False
    lost_attempts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Unused:
    """A comparison of that time found that no offer uses the picture."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Deletion:
    """The picture is to be deleted from a namespace, or from all of them (empty)."""

    namespace: str
    at: datetime


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A recipient no longer needs the picture in a namespace, or in all of them (empty)."""

    namespace: str
    recipient: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Put:
    """The picture was uploaded by hand or by a shop, and is stored."""

    info: PictureInfo
    at: datetime


@dataclass(frozen=True, slots=True)
class Move:
    """Other rules give the URL another key.

    Attributes:
        to_url: the other key.
        to_hash: hash of the other key.
        namespaces: namespaces in which the other key keeps a picture.
        is_put: whether the other key counts as put.
        at: time of the check.
    """

    to_url: str
    to_hash: bytes
    namespaces: frozenset[str]
    is_put: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class Adopt:
    """Another key of the same URL, made by other rules, keeps these pictures."""

    pictures: tuple[PictureInfo, ...]
    is_put: bool
    at: datetime


Event: TypeAlias = Request | Loaded | Look | Unused | Deletion | GivenUp | Put | Move | Adopt


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
