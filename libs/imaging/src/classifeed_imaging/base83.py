"""Base 83, the number system of BlurHash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"
_DIGITS: Final = {letter: digit for digit, letter in enumerate(_LETTERS)}


def encode_base83(value: int, length: int) -> str:
    """Return a number with a fixed count of digits."""
    return "".join(_LETTERS[value // 83**place % 83] for place in reversed(range(length)))


def digits_of(text: str) -> list[int]:
    """Return the digits of a text.

    Raises:
        KeyError: a letter is no digit.
    """
    return [_DIGITS[letter] for letter in text]


def number_of(digits: Sequence[int]) -> int:
    """Return the number that the digits represent."""
    number = 0
    for digit in digits:
        number = number * 83 + digit
    return number
