"""A fault that lasts for seconds is reported with its reason and duration; one that is over is not."""

from __future__ import annotations

from contextlib import suppress

from classifeed_common.clock import FakeClock
from classifeed_common.errors import PermissionDenied
from classifeed_common.faults.lasting import LastingFault


def named(fault: LastingFault) -> dict[str, str]:
    return fault.blocked("feeds", "pushing", "Changed rows wait")


async def test_a_fault_is_named_once_it_has_lasted_and_until_it_is_over() -> None:
    clock = FakeClock()
    fault = LastingFault(clock)
    fault.note(ConnectionError("first"))
    await clock.advance(4.9)
    fault.note(PermissionDenied("CALLER_REFUSED", "api may not call this: allow it."))
    assert named(fault) == {}
    await clock.advance(0.1)
    assert named(fault) == {
        "feeds": (
            "pushing has failed for 5 s, 2 times: CALLER_REFUSED: api may not call this: allow it. "
            "Changed rows wait; it continues once the cause is fixed."
        )
    }
    fault.clear()
    assert named(fault) == {}
    fault.note(ValueError("again"))
    assert named(fault) == {}, "the time before it was over does not count"
    await clock.advance(5)
    assert "5 s, once: ValueError: again." in named(fault)["feeds"]


async def test_what_gets_no_response_is_named_while_it_waits() -> None:
    clock = FakeClock()
    fault = LastingFault(clock)
    with suppress(TimeoutError), fault.waiting_for("Kafka to acknowledge 3 messages"):
        await clock.advance(4)
        assert named(fault) == {}
        await clock.advance(3)
        assert named(fault)["feeds"].startswith("pushing has waited 7 s for Kafka to acknowledge 3 messages. Changed")
        raise TimeoutError
    assert named(fault) == {}


async def test_a_fault_that_is_not_repeated_is_forgotten_where_its_work_may_be_gone() -> None:
    clock = FakeClock()
    fault = LastingFault(clock, forget_after_s=60)
    fault.note(ValueError("of a row that is deleted"))
    await clock.advance(60)
    assert "60 s, once" in named(fault)["feeds"]
    await clock.advance(1)
    assert named(fault) == {}
    fault.note(ValueError("of another one"))
    await clock.advance(5)
    assert "5 s, once" in named(fault)["feeds"]
