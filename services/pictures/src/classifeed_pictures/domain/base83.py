"""Base 83: the digits in which a BlurHash is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"
_DIGITS: Final = {letter: digit for digit, letter in enumerate(_LETTERS)}


def encode_base83(value: int, length: int) -> str:
    """Return a number in so many letters."""
    return "".join(_LETTERS[value // 83**place % 83] for place in reversed(range(length)))


def digits_of(text: str) -> list[int]:
    """Return the digits of a text.

    Raises:
        KeyError: a letter is none of the digits.
    """
    return [_DIGITS[letter] for letter in text]


def number_of(digits: Sequence[int]) -> int:
    """Return the number that digits make."""
    number = 0
    for digit in digits:
        number = number * 83 + digit
    return number
