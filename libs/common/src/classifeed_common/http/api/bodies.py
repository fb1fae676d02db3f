"""Request bodies with limits of size, time, and JSON depth."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Final

from starlette.requests import ClientDisconnect, Request

from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.http.api.checking import refusal

BODY_LIMIT_S: Final = 20.0
_DISCARDED_BYTES: Final = 64 << 20
# Possessive quantifiers, and an unclosed string extends to the end: each byte is visited once, for any body.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_OPENING, _CLOSING = b"[", b"]"
_BRACKETS: Final = bytes.maketrans(b"{}", _OPENING + _CLOSING)
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


class Body:
    """The body of a request.

    Args:
        request: request, whose body is read only here.
        max_bytes: largest size.
    """

    def __init__(self, request: Request, max_bytes: int) -> None:
        self._request = request
        self._max_bytes = max_bytes
        self._is_begun = False
        self._is_complete = False

    @property
    def leaves_rest(self) -> bool:
        """Whether the unread rest may be so large that closing the connection is better.

        The server discards a smaller rest as it arrives: a client whose connection is closed while it sends may never
        see the response.
        """
        if self._is_complete:
            return False
        has_length = "content-length" in self._request.headers
        return self._announced > _DISCARDED_BYTES if has_length else self._is_begun or self._is_chunked

    @property
    def _is_chunked(self) -> bool:
        return "transfer-encoding" in self._request.headers

    @property
    def _announced(self) -> int:
        given = self._request.headers.get("content-length", "")
        return int(given) if given.isdecimal() else 0

    async def read(self) -> bytes:
        """Return the body.

        Raises:
            InvalidArgument: BODY_TOO_LARGE, before reading if the length is announced; BODY_INCOMPLETE.
        """
        body = bytearray()
        async for chunk in self.stream():
            body += chunk
        return bytes(body)

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives, for a reader that keeps less than all of it. Raises the errors of `read`."""
        if self._announced > self._max_bytes:
            raise self._too_large()
        self._is_begun = True
        left_bytes = self._max_bytes
        ends_at = asyncio.get_running_loop().time() + BODY_LIMIT_S
        chunks = self._request.stream()
        while True:
            try:
                async with asyncio.timeout_at(ends_at):
                    chunk = await anext(chunks, None)
            except TimeoutError as error:
                raise InvalidArgument(
                    "BODY_INCOMPLETE", f"The body was not complete after {BODY_LIMIT_S:g} s. Send it again."
                ) from error
            except ClientDisconnect as error:
                raise InvalidArgument(
                    "BODY_INCOMPLETE", "The body ended before it was complete. Send it again."
                ) from error
            if chunk is None:
                break
            left_bytes -= len(chunk)
            if left_bytes < 0:
                raise self._too_large()
            yield chunk
        self._is_complete = True

    def _too_large(self) -> InvalidArgument:
        return InvalidArgument("BODY_TOO_LARGE", f"The body is larger than {self._max_bytes} bytes. Send less at once.")


def check_json(body: bytes, *, most_deep: int, most_values: int | None) -> None:
    """Check that a JSON text is within limits of depth and of values; its syntax is not checked.

    Takes some milliseconds per megabyte of any input: it removes the innermost brackets, level by level.

    Args:
        body: the text.
        most_deep: largest nesting depth of objects and arrays.
        most_values: largest number of values; None: any number.

    Raises:
        InvalidArgument: REQUEST_INVALID.
    """
    # A value has at most two strings, its name and itself. Half a million strings take the search 0.3 s.
    if most_values is not None and body.count(b'"') - body.count(b'\\"') > 4 * most_values:
        raise _too_many(most_values)
    without_texts = _STRING.sub(b"", body)
    if most_values is not None and without_texts.count(b",") >= most_values:
        raise _too_many(most_values)
    brackets = without_texts.translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(most_deep):
        if _OPENING + _CLOSING not in brackets:
            return
        brackets = brackets.replace(_OPENING + _CLOSING, b"")
    if _OPENING + _CLOSING in brackets:
        raise refusal([FieldViolation("", f"the JSON is nested more than {most_deep} levels deep")])


def _too_many(most_values: int) -> InvalidArgument:
    return refusal([FieldViolation("", f"the JSON has more than {most_values} values")])
