"""retry repeats a call with pauses that grow, and leaves the decision about each error to its caller."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_common.loops import retry
from classifeed_common.pacing.backoff import Backoff


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []

    async def sleep(pause_s: float) -> None:
        found.append(pause_s)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return found


async def test_a_call_is_repeated_until_it_succeeds(pauses: list[float]) -> None:
    outcomes: list[Exception | str] = [OSError("full"), ValueError("no number"), "done"]
    noted: list[tuple[str, float]] = []

    async def call() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    found = await retry(call, Backoff(1, 60), lambda error, pause_s: noted.append((str(error), pause_s)))
    assert found == "done"
    assert noted == [("full", 1), ("no number", 2)]
    assert pauses == [1, 2]


async def test_an_error_that_the_caller_raises_is_the_outcome(pauses: list[float]) -> None:
    async def call() -> None:
        raise ValueError("no number")

    def refuse(error: Exception, _pause_s: float) -> None:
        raise error

    with pytest.raises(ValueError, match="no number"):
        await retry(call, Backoff(1, 60), refuse)
    assert pauses == []
