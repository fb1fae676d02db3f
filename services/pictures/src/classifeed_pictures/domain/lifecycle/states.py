"""The state of the picture of one URL."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.refreshing import refresh_time
from classifeed_pictures.domain.lifecycle.retries import earliest_attempt, is_lasting

_GROUPS: Final = 10_000
_NAME_BYTES: Final = 16


@dataclass(slots=True)
class Holding:
    """The picture in one namespace, which keeps it or waits for it.

    Attributes:
        first_attempt: lowest number of an order for it. Pictures of earlier attempts belong to a deleted state, and are
            deleted, too.
        attempt: number of the newest order for this namespace; 0 if there is none.
        ordered_at: time of that order; None: no order is open.
        is_copy: whether the order is a copy from another namespace.
        info: the picture; None: not kept yet.
        info_attempt: attempt that brought the picture, or a picture that its host has forbidden since; 0: there was
            none.
        failure: failure of this namespace only, such as its quota.
        retry_at: time when the order may be retried.
        failed_attempts: number of such failures in a row.
    """

    first_attempt: int
    attempt: int = 0
    ordered_at: datetime | None = None
    is_copy: bool = False
    info: PictureInfo | None = None
    info_attempt: int = 0
    failure: LoadFailure | None = None
    retry_at: datetime | None = None
    failed_attempts: int = 0

    def is_open(self, lost_before: datetime) -> bool:
        """Return whether an order is open: it has no result, and is not older than orders that count as lost."""
        return self.ordered_at is not None and self.ordered_at > lost_before

    def keep(self, info: PictureInfo, attempt: int) -> None:
        """Keep the picture that an attempt brought."""
        self.info, self.info_attempt = info, attempt
        self.failure, self.retry_at, self.failed_attempts = None, None, 0
        if attempt >= self.attempt:
            self.attempt, self.ordered_at = attempt, None

    def note_failure(self, failure: LoadFailure, now: datetime) -> None:
        """Note a failure of this namespace only."""
        self.failed_attempts += 1
        self.failure = failure
        self.retry_at = earliest_attempt(failure, self.failed_attempts, now)


@dataclass(slots=True)
class State:
    """The state of the picture of a URL.

    Attributes:
        url: canonical URL, or the key of a picture that was put.
        url_hash: 16 bytes.
        is_put: whether it was put, or requested, by hand; only an explicit deletion removes it.
        attempt: number of the newest order for any namespace.
        attempt_at: time of that order.
        next_attempt_at: time when a pass over the states checks it; None: never.
        failed_attempts: number of failed downloads in a row; for a held picture, of refreshes.
        failure: failure of the last download; None after a success.
        retry_at: time when a request may cause the next download after that.
        delete_mark_at: time of the comparison that first found it unused; None: it is used.
        requested_at: time of the newest request that changed the state.
        refresh_at: time of the next refresh; None: never.
        holdings: holdings by namespace.
    """

    url: str
    url_hash: bytes
    is_put: bool = False
    attempt: int = 0
    attempt_at: datetime | None = None
    next_attempt_at: datetime | None = None
    failed_attempts: int = 0
    failure: LoadFailure | None = None
    retry_at: datetime | None = None
    delete_mark_at: datetime | None = None
    requested_at: datetime | None = None
    refresh_at: datetime | None = None
    holdings: dict[str, Holding] = field(default_factory=dict)

    def copy(self) -> State:
        """Return a state that changes independently. Both share their pictures, which are not changed."""
        return replace(self, holdings={name: replace(holding) for name, holding in self.holdings.items()})

    def newest_info(self) -> PictureInfo | None:
        """Return the picture of the newest attempt in any namespace."""
        held = [holding for holding in self.holdings.values() if holding.info is not None]
        return max(held, key=lambda holding: holding.info_attempt).info if held else None

    def is_refreshed(self, rules: LifecycleRules) -> bool:
        """Return whether the picture is refreshed: it is held, and was not put."""
        return rules.refresh_after is not None and not self.is_put and self.newest_info() is not None

    def waiting(self) -> Iterator[str]:
        """Yield the namespaces that get the picture as soon as any namespace has it."""
        return (name for name, holding in self.holdings.items() if holding.info is None and holding.failure is None)

    def has_open(self, lost_before: datetime) -> bool:
        """Return whether any order is open."""
        return any(holding.is_open(lost_before) for holding in self.holdings.values())

    def open_download(self, lost_before: datetime) -> datetime | None:
        """Return the time of the order of the open download."""
        for holding in self.holdings.values():
            if holding.is_open(lost_before) and not holding.is_copy:
                return holding.ordered_at
        return None

    def known_failure(self, holding: Holding) -> tuple[int, LoadFailure] | None:
        """Return the attempt and the lasting failure of a holding that lacks the picture; None: there is none."""
        if holding.failure is not None:
            return holding.attempt, holding.failure
        if self.failure is None or self.newest_info() is not None or not is_lasting(self.failure, self.failed_attempts):
            return None
        return self.attempt, self.failure

    def note_failure(self, failure: LoadFailure, now: datetime) -> None:
        """Note a failed download."""
        self.failure, self.failed_attempts = failure, self.failed_attempts + 1
        self.retry_at = earliest_attempt(failure, self.failed_attempts, now)

    def clear_failure(self) -> None:
        """Note a successful download."""
        self.failure, self.failed_attempts, self.retry_at = None, 0, None

    def note_use(self, at: datetime) -> None:
        """Clear the deletion mark, unless the mark is newer."""
        if self.delete_mark_at is not None and at > self.delete_mark_at:
            self.delete_mark_at = None
            self.requested_at = max(at, self.requested_at or at)

    def plan_refresh(self, now: datetime, rules: LifecycleRules, fresh_for: timedelta | None = None) -> None:
        """Schedule the refresh of a picture that is current now, considering the promise of its host."""
        self.refresh_at = None
        if rules.refresh_after is not None and self.is_refreshed(rules):
            self.refresh_at = refresh_time(self.url_hash, now, after=rules.refresh_after, fresh_for=fresh_for)

    def lowest_attempt(self, now: datetime) -> int:
        """Return a number above all earlier ones, even those of a deleted state or from before a restore."""
        return max(self.attempt + 1, int(now.timestamp() * 1_000_000))

    def next_attempt(self, now: datetime) -> int:
        """Return the number of a new order."""
        self.attempt = self.lowest_attempt(now)
        return self.attempt

    def add_holding(self, namespace: str, now: datetime) -> Holding:
        """Return a new holding of a namespace."""
        holding = self.holdings[namespace] = Holding(first_attempt=self.lowest_attempt(now))
        return holding


def name_picture(url_hash: bytes, content_hash: bytes) -> tuple[int, str]:
    """Return group id and name of a picture: the same for the same bytes of the same URL, otherwise different."""
    digest = hashlib.blake2b(url_hash + content_hash, digest_size=_NAME_BYTES).digest()
    return int.from_bytes(digest[:4], "big") % _GROUPS, digest.hex()
