"""Limits of all values that are stored with a job, checked here before any statement (ADR 0093).

A valid value fits into PostgreSQL's text and jsonb, into the indexes of the job tables, and into
google.protobuf.Struct.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

MAX_QUEUE: Final = 63
MAX_NAME: Final = 200
MAX_KEY: Final = 500
MAX_LABEL: Final = 200
MAX_LEASE_S: Final = 86_400
MAX_DEPTH: Final = 30
MAX_INT_BITS: Final = 1024
MAX_JSON_BYTES: Final = 1 << 20
MAX_MESSAGE: Final = 4000
INT32: Final = 2**31

_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_DIGEST: Final = 32


class NotStorable(ValueError):
    """A value exceeds the limits of the engine; nothing was written. The message names the value and the fix."""


def find_fault(value: Any) -> str | None:
    """Return why a JSON value cannot be stored, with the path of the fault; None if it can be stored."""
    return _find(value, "", 0)


def find_text_fault(text: str) -> str | None:
    """Return why a text cannot be stored, ignoring its length; None if it can be stored."""
    if "\0" in text:
        return "has a NUL character"
    return "has half a surrogate pair" if _has_surrogate(text) else None


def find_control(text: str) -> str | None:
    """Return a message if a name has control characters, otherwise None."""
    is_clean = not any(unicodedata.category(character) == "Cc" for character in text)
    return None if is_clean else "must have no control characters"


def json_text(what: str, value: Any) -> str:
    """Return a JSON value as text for the database.

    Args:
        what: Name of the field, for the message.
        value: Value that `json.dumps` accepts.

    Raises:
        NotStorable: The value is not JSON, cannot be stored, or has more than 1 MiB.
    """
    if fault := find_fault(value):
        raise NotStorable(f"{what} {fault}: leave it out, or encode it as text")
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise NotStorable(f"{what} is no JSON ({error}): convert it first") from error
    if len(text) * 4 > MAX_JSON_BYTES and (size := len(text.encode())) > MAX_JSON_BYTES:
        raise NotStorable(
            f"{what} has {size:,} bytes of JSON, more than {MAX_JSON_BYTES:,}: store the data in a table or a file, "
            f"and pass its id"
        )
    return text


def check_texts(values: Iterable[tuple[str, str | None, int]]) -> None:
    """Check names, keys and labels.

    Args:
        values: Name of the field, text, and maximum number of characters; a text of None is skipped.

    Raises:
        NotStorable: A text is empty, too long, or has a character that cannot be stored.
    """
    for what, text, limit in values:
        if text is None:
            continue
        if not text:
            raise NotStorable(f"{what} is empty: set it, or leave it out")
        if len(text) > limit:
            raise NotStorable(
                f"{what} has {len(text):,} characters, more than {limit}: use a shorter one, such as a hash of it"
            )
        if fault := find_text_fault(text):
            raise NotStorable(f"{what} {fault}: remove it")


def check_numbers(*, priority: int, max_attempts: int | None, lease_ttl_s: int | None) -> None:
    """Check the numbers of a job.

    Raises:
        NotStorable: A number is out of range.
    """
    for what, number, lowest, highest in (
        ("priority", priority, -INT32, INT32 - 1),
        ("max_attempts", max_attempts, 1, INT32 - 1),
        ("lease_ttl_s", lease_ttl_s, 1, MAX_LEASE_S),
    ):
        if number is not None and not lowest <= number <= highest:
            raise NotStorable(f"{what} is {number}: use a number from {lowest} to {highest}")


def bounded_key(key: str) -> str:
    """Return a valid lock key or idempotency key: the key itself, or, if too long, its beginning with a hash of it."""
    if len(key) <= MAX_KEY:
        return key
    return f"{key[: MAX_KEY - _DIGEST - 1]}#{hashlib.sha256(key.encode()).hexdigest()[:_DIGEST]}"


def clean_text(text: str, limit: int = MAX_MESSAGE) -> str:
    """Return a text that can be stored: cut to `limit` characters, with U+FFFD for characters that cannot be stored."""
    return _UNSTORABLE.sub("\ufffd", text[:limit])


def clean_json(value: Any, _depth: int = 0) -> Any:
    """Return a JSON value that can be stored: texts cleaned, numbers out of range null, other objects as text."""
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if value.bit_length() <= MAX_INT_BITS else None
    if _depth >= MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        return {clean_text(str(name)): clean_json(item, _depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item, _depth + 1) for item in value]
    return clean_text(str(value))


def _find(value: Any, place: str, depth: int) -> str | None:
    where = f" at {place}" if place else ""
    if depth > MAX_DEPTH:
        return f"is nested deeper than {MAX_DEPTH} levels"
    if isinstance(value, str):
        return f"{fault}{where}" if (fault := find_text_fault(value)) else None
    if isinstance(value, float) and not math.isfinite(value):
        return f"has a number that is not finite{where}"
    if isinstance(value, int) and value.bit_length() > MAX_INT_BITS:
        return f"has a number of more than {MAX_INT_BITS} bits{where}"
    if isinstance(value, list | tuple):
        found = (_find(item, f"{place}[{index}]", depth + 1) for index, item in enumerate(value))
        return next(filter(None, found), None)
    if isinstance(value, Mapping):
        for name, item in value.items():
            inside = f"{place}.{name}" if place else str(name)
            if isinstance(name, str) and (fault := find_text_fault(name)):
                return f"{fault} in a name{where}"
            if fault := _find(item, inside, depth + 1):
                return fault
    return None


def _has_surrogate(text: str) -> bool:
    """Return whether a text has half a surrogate pair, which UTF-8 cannot encode."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
