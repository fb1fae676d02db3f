"""Settings of feeds: default values, changes by a mask, and checks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.field_mask_pb2 import FieldMask

from classifeed.feeds.v1.feed_pb2 import FeedSettings
from classifeed.feeds.v1.load_pb2 import DISPOSITION_DELETE, LOAD_MODE_REPLACE
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.fetch import FetchFailed, check_url
from classifeed_domain.currencies import CURRENCY_CODES

ALL: Final = ("settings",)
MASK_PATHS: Final = (
    "settings",
    "settings.source",
    "settings.source.url",
    "settings.source.credentials",
    "settings.schedule",
    "settings.schedule.interval",
    "settings.mode",
    "settings.disposition",
    "settings.format",
    "settings.default_currency",
)
_VALUES: Final = ("source.url", "schedule.interval", "mode", "disposition", "format", "default_currency")
_DEFAULT_INTERVAL_S: Final = 60 * 60
_MAX_INTERVAL_S: Final = 30 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits set by the operator.

    Attributes:
        min_interval_s: shortest interval between two fetches, in seconds.
        allow_loopback: whether links to this machine are allowed, for tests.
    """

    min_interval_s: float
    allow_loopback: bool = False


def check_mask(paths: Sequence[str]) -> None:
    """Return if a mask names settings only.

    Raises:
        InvalidArgument: it names something else, or nothing.
    """
    unknown = [path for path in paths if path not in MASK_PATHS]
    if paths and not unknown:
        return
    wrong = ", ".join(map(repr, unknown)) or "nothing"
    raise InvalidArgument(
        "UPDATE_MASK_INVALID",
        f"update_mask names {wrong}. It can name: {', '.join(MASK_PATHS)}.",
        violations=[FieldViolation("update_mask", f"{path!r} cannot be changed") for path in unknown]
        or [FieldViolation("update_mask", "must name at least one path")],
    )


def names(paths: Collection[str], path: str) -> bool:
    """Whether a mask names a path, or a message that contains it."""
    return any(path == named or path.startswith(f"{named}.") for named in paths)


def complete(given: FeedSettings) -> FeedSettings:
    """Return settings with defaults for missing values, and without credentials."""
    settings = FeedSettings()
    settings.CopyFrom(given)
    settings.source.SetInParent()
    settings.source.ClearField("credentials")
    settings.source.ClearField("has_credentials")
    if not settings.schedule.HasField("interval"):
        settings.schedule.interval.FromSeconds(_DEFAULT_INTERVAL_S)
    settings.mode = settings.mode or LOAD_MODE_REPLACE
    settings.disposition = settings.disposition or DISPOSITION_DELETE
    return settings


def change(old: FeedSettings, given: FeedSettings, paths: Collection[str]) -> FeedSettings:
    """Return complete settings whose values that the mask names are taken from `given`."""
    settings = FeedSettings()
    settings.CopyFrom(old)
    named = FieldMask(paths=[value for value in _VALUES if names(paths, f"settings.{value}")])
    named.MergeMessage(given, settings, replace_message_field=True)
    return settings


def check_format(given: str, known: Sequence[str], *, field: str) -> None:
    """Return if a format is among the known ones.

    Raises:
        InvalidArgument: it is not; the error names `field`.
    """
    if given in known:
        return
    words = f"{given!r} is not a known format; leave it empty, or name one of: {', '.join(known)}"
    raise InvalidArgument(
        "FEED_SETTINGS_INVALID",
        f"The settings cannot be used: {field}: {words}",
        violations=[FieldViolation(field, words)],
    )


def check_currency(given: str, *, field: str) -> None:
    """Return if `given` is the code of a currency, or empty.

    Raises:
        InvalidArgument: it is not; the error names `field`.
    """
    if given and given not in CURRENCY_CODES:
        words = f"{given!r} is not the code of a currency in ISO 4217, such as RUB, KZT, USD or EUR"
        raise InvalidArgument(
            "FEED_SETTINGS_INVALID",
            f"The settings cannot be used: {field}: {words}",
            violations=[FieldViolation(field, words)],
        )


def check_settings(settings: FeedSettings, paths: Collection[str], limits: Limits, *, field: str) -> None:
    """Return if the settings that the mask names can be used.

    Raises:
        InvalidArgument: they cannot; the error names the path of each wrong value, below `field`.
    """
    if names(paths, "settings.default_currency"):
        check_currency(settings.default_currency, field=f"{field}.default_currency")
    violations = []
    if names(paths, "settings.source.url"):
        try:
            check_url(settings.source.url, allow_loopback=limits.allow_loopback)
        except FetchFailed as error:
            violations.append(FieldViolation(f"{field}.source.url", f"{error.code}: {error.message}"))
    if names(paths, "settings.schedule.interval"):
        interval = settings.schedule.interval
        interval_s = interval.seconds + interval.nanos / 1e9
        if not limits.min_interval_s <= interval_s <= _MAX_INTERVAL_S:
            words = f"must be from {limits.min_interval_s:g} s to {_MAX_INTERVAL_S} s (30 days)"
            violations.append(FieldViolation(f"{field}.schedule.interval", words))
    if violations:
        raise InvalidArgument(
            "FEED_SETTINGS_INVALID",
            "The settings cannot be used: " + "; ".join(f"{it.field}: {it.description}" for it in violations),
            violations=violations,
        )
