"""What happens to a picture, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from classifeed.pictures.v1.orders_pb2 import Unchanged
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo

NOBODY: Final = "-"
"""Recipient of results that nobody gets: they are in the states alone."""


@dataclass(frozen=True, slots=True)
class Request:
    """Somebody requests the picture; also what is remembered of it while it waits.

    Attributes:
        namespace: That is to keep it.
        recipient: Who gets the result.
        reference: What the recipient recognizes it by.
        requested_url: As the recipient wrote it.
        at: When it was requested.
        client: See `Recipient`.
    """

    namespace: str
    recipient: str
    reference: str
    requested_url: str
    at: datetime
    client: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """An order was carried out, or failed.

    Attributes:
        namespace: As in the order.
        attempt: As in the order.
        outcome: The stored picture, why there is none, or that the host still has the one that is held.
        at: When that was found out.
        fresh_for: How long its host promises that it stays the same; None: it promises nothing.
    """

    namespace: str
    attempt: int
    outcome: PictureInfo | LoadFailure | Unchanged
    at: datetime
    fresh_for: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """It may be due for another attempt.

    Attributes:
        is_forced: Whether it is tried even if it is not due.
        at: When that was found.
        is_refresh: Whether it is downloaded even where it is kept.
        lost_attempts: Attempts whose orders were lost.
    """

    is_forced: bool
    at: datetime
    is_refresh: bool = False
    lost_attempts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Unused:
    """No offer uses it, a comparison of that time says."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Deletion:
    """Somebody wants it deleted from a namespace, or from all of them (empty)."""

    namespace: str
    at: datetime


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A recipient does not need it any more in a namespace, or in all of them (empty)."""

    namespace: str
    recipient: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Put:
    """It was put by hand or by a shop, and is stored."""

    info: PictureInfo
    at: datetime


@dataclass(frozen=True, slots=True)
class Move:
    """Other rules make another key of its URL.

    Attributes:
        to_url: The other key.
        to_hash: Its hash.
        namespaces: In which the other key keeps a picture.
        is_put: Whether the other key counts as put.
        at: When that was found.
    """

    to_url: str
    to_hash: bytes
    namespaces: frozenset[str]
    is_put: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class Adopt:
    """A key that other rules have made of the same URL keeps these pictures."""

    pictures: tuple[PictureInfo, ...]
    is_put: bool
    at: datetime


Event: TypeAlias = Request | Loaded | Look | Unused | Deletion | GivenUp | Put | Move | Adopt


@dataclass(frozen=True, slots=True)
class Download:
    """Order: download it into a namespace.

    Attributes:
        namespace: That is to keep it.
        attempt: Number of the order.
        held: What the namespace keeps, where it is downloaded only if it has changed; None: in any case.
    """

    namespace: str
    attempt: int
    held: PictureInfo | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """Order: keep what another namespace keeps."""

    source: PictureInfo
    namespace: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Order: delete a stored picture, unless a later attempt has stored it again.

    Attributes:
        info: The picture.
        attempt: The highest one that it is about.
        moved_to: Hash of the key that its address stays with; empty: of none.
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
    """The result for all stored requests of a namespace. A picture ends them; a failure leaves them waiting."""

    attempt: int
    result: PictureInfo | LoadFailure


@dataclass(slots=True)
class Effects:
    """What follows from the events of one URL.

    Attributes:
        orders: In their order.
        results: Of requests that are not stored.
        waiting: Results for the stored requests, by namespace. They come before `remembered` is stored.
        remembered: Requests to store, with the attempt whose failure was reported; 0: none was.
        forgotten: Namespaces whose stored requests nobody needs any more; "" means all of them. They go before
            `remembered` is stored.
        adoptions: What other keys are to adopt, by these.
        repeated: Requests that are made again, under the key that the rules make now.
        moved_to: Hash of the key that has all; empty: nothing has moved. Stored requests that wait are made
            again, before `remembered` is stored; settled ones, also those of `settled`, become those of that key.
        changed: What namespaces keep in place of another picture, or why they keep it no longer, by namespace: for all
            whose stored requests were settled with that one. Read before `forgotten` takes them.
        settled: Requests that were settled with a picture: they are stored, as their recipients get its changes.
        given_up: Result for the stored requests of recipients that gave the picture up while others need it, by
            namespace and recipient. They are removed before `settled` and `remembered` are stored.
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
