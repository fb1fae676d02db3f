"""Events of a picture: the inputs of its lifecycle."""

from __future__ import annotations

from dataclasses import dataclass
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
