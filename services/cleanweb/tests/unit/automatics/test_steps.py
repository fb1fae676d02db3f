"""The number of steps for a text is linear in its length, for any content."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from re import _constants, _parser
from types import FrameType, ModuleType
from typing import Any

import pytest

from classifeed_cleanweb.automatics import Automatics, alphabet, forms
from classifeed_cleanweb.automatics.addresses import contacts, links, phones
from classifeed_cleanweb.automatics.terms import is_written
from classifeed_cleanweb.rules.loading import packaged_rules

_MODULES: tuple[ModuleType, ...] = (alphabet, contacts, links, phones)
_MOST = 256
_PIECES = (
    "a", "1", "8 9 1 6 ", "@a", ".", "a.", ".ru", "и д и о т ", "x*y*", "идиот ", "команда ", "f\u0301", "\u200b",
    "\u0301", "!a", "пять ", "тел 12 ", "a@b.ru ", "точка ру ", "http://", "www.", "(((", "+7 ", "moby dick ", "ass",
    "\U0001f600", "телеграм ", "собака a.", "2 ", "a-a-a-", "ффффф ",
)  # fmt: skip


def steps(work: Callable[[], object]) -> int:
    """Count calls of Python and C functions, and lines, so that a loop without calls counts too."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += 1

    before = sys.gettrace()
    sys.setprofile(profile)
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", _PIECES)
def test_twice_the_text_takes_twice_the_steps(piece: str) -> None:
    judge = Automatics.load(packaged_rules())
    short, long = (piece * (size // len(piece)) for size in (4_000, 16_000))
    judge.judge(short, (), "offer")  # the first words fill caches

    def counted(text: str) -> int:
        is_written.cache_clear()
        return steps(lambda: judge.judge(text, (), "offer"))

    assert counted(long) <= 4.5 * counted(short) + 500


def test_a_megabyte_is_judged() -> None:
    judge = Automatics.load(packaged_rules())
    assert judge.judge("а" * (1 << 20), (), "offer").findings == ()
    assert len(judge.judge("и д и о т, это " * (1 << 16), (), "offer").findings) == 100


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield the regular expressions of the package, and those that it builds from the rules."""
    judge = Automatics.load(packaged_rules())
    owners: list[Any] = [*_MODULES, *(pair[1] for pair in judge._links), *(one._phones for one in judge._contacts)]
    for owner in owners:
        values = list(vars(owner).values())
        values += [inner for value in values if isinstance(value, tuple) for part in value for inner in _parts(part)]
        yield from (value for value in values if isinstance(value, re.Pattern))


def _parts(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def _repeats(parsed: Any) -> Iterator[int]:
    for operation, argument in parsed:
        if operation in {_constants.MAX_REPEAT, _constants.MIN_REPEAT}:
            yield int(argument[1])
        for part in argument if isinstance(argument, (tuple, list)) else (argument,):
            for one in part if isinstance(part, list) else [part]:
                if isinstance(one, _parser.SubPattern):
                    yield from _repeats(one)


def test_every_repeat_of_a_regular_expression_is_bounded() -> None:
    found = {pattern.pattern: list(_repeats(_parser.parse(pattern.pattern))) for pattern in patterns()}
    assert len(found) > 15
    assert sum(map(bool, found.values())) > 8
    assert {pattern for pattern, repeats in found.items() if max(repeats, default=0) > _MOST} == set()
    assert forms.MAX_FORMS <= 20_000
