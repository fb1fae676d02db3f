"""Sizes, prices, durations and times for people."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.offers.v1.offer_pb2 import Price

_PARTS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def size_words(size_bytes: float) -> str:
    """Return a size such as 512 bytes, 1.4 KiB or 28 MiB."""
    if size_bytes < 1024:
        return f"{size_bytes:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        size_bytes /= 1024
        if size_bytes < 1023.5 or unit == "GiB":
            break
    return f"{size_bytes:,.1f} {unit}" if size_bytes < 9.95 else f"{size_bytes:,.0f} {unit}"


def price_words(price: Price) -> str:
    """Return a price such as 1,200 RUB or 3.50 EUR."""
    return f"{price.amount_micros / 1_000_000:,.2f} {price.currency_code}".replace(".00 ", " ").rstrip()


def duration_words(duration_s: float) -> str:
    """Return the two largest parts of a duration, such as 250 ms, 4.2 s, 1 h 30 min or 2 d."""
    if duration_s < 0.9995:
        return f"{duration_s * 1000:.0f} ms"
    if duration_s < 9.95:
        return f"{duration_s:.1f} s"
    left = round(duration_s)
    words: list[str] = []
    for unit, seconds in _PARTS:
        count, left = divmod(left, seconds)
        if count or words:
            words.append(f"{count} {unit}" if count else "")
    return " ".join(filter(None, words[:2]))


def local_time(time: Timestamp) -> datetime:
    """Return a time in the local time zone."""
    return time.ToDatetime(UTC).astimezone()


def time_words(time: Timestamp) -> str:
    """Return a local time to the second."""
    return f"{local_time(time):%Y-%m-%d %H:%M:%S}"
