"""Resource names, and their rules in words.

The services check the same rules by the patterns of the protos. A check in the client saves a call, and its message
explains the rule without a regular expression.
"""

from __future__ import annotations

import re
from typing import Final

import grpc

from classifeed_client.errors import FieldViolation, Refused

DEFAULT_NAMESPACE: Final = "default"
_SELLER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAMESPACE = re.compile(r"[a-z0-9._-]{1,64}")
_FORMAT = re.compile(r"[a-z][a-z0-9_]{0,31}")
_SELLER_WORDS = (
    "must begin with a letter or digit, and may have letters (a-z, A-Z), digits, . _ -, at most 64 characters"
)
_NAMESPACE_WORDS = "may have small letters (a-z), digits, . _ -, from 1 to 64 characters"
_FORMAT_WORDS = "must begin with a small letter, and may have small letters (a-z), digits, _, at most 32 characters"
_ID_WORDS = "must have 1 to 256 characters"
_LONGEST_ID = 256


def seller_name(seller_id: str) -> str:
    """Return sellers/{seller}.

    Raises:
        Refused: REQUEST_INVALID, the same error as from the service.
    """
    _check("seller", seller_id, bool(_SELLER.fullmatch(seller_id)), _SELLER_WORDS)
    return f"sellers/{seller_id}"


def feed_name(seller_id: str, namespace: str) -> str:
    """Return sellers/{seller}/feeds/{namespace}. Raises as seller_name does."""
    parent = seller_name(seller_id)
    _check("namespace", namespace, bool(_NAMESPACE.fullmatch(namespace)), _NAMESPACE_WORDS)
    return f"{parent}/feeds/{namespace}"


def task_name(seller_id: str, namespace: str, task_id: int) -> str:
    """Return sellers/{seller}/feeds/{namespace}/tasks/{task}. Raises as seller_name does."""
    return f"{feed_name(seller_id, namespace)}/tasks/{task_id}"


def offer_name(seller_id: str, namespace: str, external_id: str) -> str:
    """Return sellers/{seller}/feeds/{namespace}/offers/{external_id}. Raises as seller_name does."""
    parent = feed_name(seller_id, namespace)
    _check("id", external_id, 0 < len(external_id) <= _LONGEST_ID, _ID_WORDS)
    return f"{parent}/offers/{external_id}"


def format_name(format_id: str) -> str:
    """Return formats/{format}. Raises as seller_name does."""
    _check("format", format_id, bool(_FORMAT.fullmatch(format_id)), _FORMAT_WORDS)
    return f"formats/{format_id}"


def _check(what: str, value: str, fits: bool, words: str) -> None:
    if fits:
        return
    shown = f"{value[:64]}…" if len(value) > 64 else value
    raise Refused(
        "REQUEST_INVALID",
        f"The {what} {shown!r} {words}.",
        {"field": what},
        [FieldViolation(what, words)],
        grpc.StatusCode.INVALID_ARGUMENT,
    )
