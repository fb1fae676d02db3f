"""Three days without verdicts, on a clock that the test moves: nothing is shown wrongly, and no text is left over."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.clients.connections import Connections
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.store.points import Area, list_area

from ...conftest import CLEAN, PENDING_S, PEOPLE, PROBE_S, RETRY_S, Moderation, errors, refused_if_bad

OUTAGE_S = 72 * 3600
CHECK_S = 10.0
TEXTS = 12
ANSWER_S = 0.3  # a request that times out has reached the service, even on a busy machine
ERROR = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"}}).encode()
WORLD = Area(-90, -180, 90, 180)
CONTENTS = {
    "error": ERROR,
    "server error": errors(clean_web="server_error"),
    "garbage": b"<html>Bad gateway</html>",
    "people": PEOPLE,
}
# In these cases the corrector polls at its real interval; in the others less often.
STEP_BY_STEP = {"away", *CONTENTS} if IS_LONG else set()
STEP_S = 3600.0 if IS_LONG else 6 * 3600.0
MakeModeration = Callable[..., Awaitable[Moderation]]


async def check(moderation: Moderation) -> None:
    """Let the reconciliation loop poll once, and return when all texts that it found are requested."""
    for kind in Kind:
        await moderation.corrector.round(kind)
    async with asyncio.timeout(60):
        while moderation.queue._known:
            await asyncio.sleep(0.001)


async def count_shown(moderation: Moderation) -> int:
    """Return the number of publicly visible points."""
    options: dict[str, Any] = {"any_status": False, "shown_after_s": None, "after": ("-infinity", UUID(int=0))}
    async with moderation.database.connection() as connection:
        return len(await list_area(connection, WORLD, tags=(), limit=1000, **options))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "bound_s"),
    [
        ("away", RETRY_S + CHECK_S),
        ("hangs", RETRY_S + CHECK_S),
        ("error", RETRY_S + CHECK_S),
        ("server error", RETRY_S + CHECK_S),
        ("garbage", RETRY_S + CHECK_S),
        ("people", PENDING_S + CHECK_S),
    ],
)
async def test_every_text_is_decided_within_its_bound_after_72_hours(
    make_moderation: MakeModeration, fault: str, bound_s: float
) -> None:
    moderation = await make_moderation(
        workers=16, breaker_failures=10**9, answer_s=ANSWER_S if fault == "hangs" else 30.0
    )
    stand_in, connections = moderation.stand_in, moderation.service._connections
    if fault == "away":
        moderation.service._connections = Connections("http://127.0.0.1:1/v2/", limit_bytes=1000)
    elif fault == "hangs":
        stand_in.released.clear()
    else:
        stand_in.content = CONTENTS[fault]
    moderation.start()
    for number in range(TEXTS):
        await moderation.create_point(f"{'bad' if number % 3 == 0 else 'good'} text {number}")
    await check(moderation)
    passed_s = 0.0
    while passed_s < OUTAGE_S:
        step_s = PENDING_S + CHECK_S if fault in STEP_BY_STEP else STEP_S
        await moderation.advance(step_s)
        passed_s += step_s
        before = len(stand_in.requests)
        await check(moderation)
        [(waiting, next_s)] = await moderation.rows(
            "SELECT count(*), extract(epoch FROM max(next_retry) - clock_timestamp())::float8 FROM subjects"
            " WHERE status = 'PENDING'"
        )
        assert waiting == TEXTS, "nothing is decided without a verdict"
        assert next_s <= bound_s - CHECK_S, "and each is requested again, however long it has waited"
        assert await count_shown(moderation) == 0
        if fault != "away":
            assert len(stand_in.requests) - before == TEXTS, "each was requested once now"

    moderation.service._connections, stand_in.respond = connections, refused_if_bad
    stand_in.released.set()
    await moderation.advance(bound_s)
    await check(moderation)
    decided = await moderation.rows("SELECT status, count(*) FROM subjects GROUP BY status ORDER BY status")
    assert decided == [("APPROVED", TEXTS * 2 // 3), ("DISAPPROVED", TEXTS // 3)]
    assert await count_shown(moderation) == TEXTS * 2 // 3


@pytest.mark.parametrize("fault", ["status", "error", "hangs"])
async def test_a_service_that_fails_gets_one_request_in_each_probe_time(
    make_moderation: MakeModeration, fault: str
) -> None:
    workers, failures, texts = 16, 5, 100
    moderation = await make_moderation(
        workers=workers, breaker_failures=failures, answer_s=0.3 if fault == "hangs" else 30.0
    )
    stand_in = moderation.stand_in
    if fault == "status":
        stand_in.status = 503
    elif fault == "error":
        stand_in.content = ERROR
    else:
        stand_in.released.clear()
    for number in range(texts):
        await moderation.create_point(f"text {number}")
    moderation.start()
    at_once = workers + failures
    await until(lambda: len(stand_in.requests) >= at_once + 8)
    arrived_s = [request.at_s for request in stand_in.requests]
    probes_s = [later - earlier for earlier, later in zip(arrived_s[at_once:], arrived_s[at_once + 1 :], strict=False)]
    assert min(probes_s) >= PROBE_S, "each probe begins when the one before has failed and its time has passed"

    stand_in.status, stand_in.content = 200, CLEAN
    stand_in.released.set()
    await until(lambda: not moderation.queue._known)
    assert not moderation.breaker.is_open
    await moderation.advance(RETRY_S + CHECK_S)
    await check(moderation)
    assert await moderation.rows("SELECT status, count(*) FROM subjects GROUP BY status") == [("APPROVED", texts)]
