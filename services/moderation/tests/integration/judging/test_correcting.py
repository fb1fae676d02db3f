"""The reconciliation loop: after any failure, one process requests a text again within its bound."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from typing import Any

import pytest
from structlog.testing import capture_logs

from classifeed_common.db import Tx
from classifeed_common.faults import lasting
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.domain.subjects import Kind, Status, Task
from classifeed_moderation.domain.verdicts import VerdictList
from classifeed_moderation.metrics import SAVED
from classifeed_moderation.store.subjects import DueText

from ...conftest import CLEAN, END, PENDING_S, PEOPLE, RETRY_S, MakeModeration, Moderation, result, verdict


async def seed(moderation: Moderation, count: int, *, same_text: bool = False, kind: Kind = Kind.POINT) -> None:
    """Store texts that are due now."""
    async with moderation.database.connection() as connection:
        await connection.execute(
            """
            INSERT INTO subjects (subject_key, kind, text, text_hash, cache_key, region_ids, seller_id, namespace,
                                  external_id, status, next_retry)
            SELECT p.key, %(kind)s, 'text ' || p.text, decode(md5(p.key), 'hex'), decode(md5(p.text), 'hex'), '{}',
                   o.seller_id, 'default', p.n, 'PENDING', statement_timestamp() - p.n * interval '1 ms'
            FROM (SELECT CASE WHEN %(kind)s = 'OFFER' THEN 'seller' END) AS o (seller_id),
                 (SELECT n, CASE WHEN %(kind)s = 'OFFER' THEN 'offer/seller/default/' || n
                                 ELSE md5(n::text)::uuid::text END, CASE WHEN %(same)s THEN 'x' ELSE n::text END
                  FROM generate_series(1, %(count)s) AS n) AS p (n, key, text)
            """,
            {"count": count, "same": same_text, "kind": kind},
        )


async def seed_sellers(moderation: Moderation, texts: dict[str, int], *, age_s: float) -> None:
    """Store texts of offers that have been due for `age_s`, with a number of texts for each seller."""
    async with moderation.database.connection() as connection:
        await connection.execute(
            """
            INSERT INTO subjects (subject_key, kind, text, text_hash, cache_key, region_ids, seller_id, namespace,
                                  external_id, status, next_retry)
            SELECT 'offer/' || s.seller_id || '/default/' || n, 'OFFER', s.seller_id || n,
                   decode(md5(s.seller_id || n), 'hex'), decode(md5(s.seller_id || n), 'hex'), '{}', s.seller_id,
                   'default', n, 'PENDING', clock_timestamp() - (%(age_s)s - n * 0.0001) * interval '1 s'
            FROM unnest(%(sellers)s::text[], %(counts)s::integer[]) AS s (seller_id, count),
                 generate_series(1, s.count) AS n
            """,
            {"sellers": list(texts), "counts": list(texts.values()), "age_s": age_s},
        )


async def claim_round(moderation: Moderation) -> Counter[str]:
    """Let a round fill the queue, empty it, and return the number of texts of each seller in it."""
    await moderation.corrector.round(Kind.OFFER)
    waiting = moderation.queue._waiting[Kind.OFFER]
    claimed = Counter(task.key.split("/")[1] for task in waiting)
    while waiting:
        moderation.queue.done(await moderation.queue.take())
    return claimed


def refused_if_it_ends_with_7(params: dict[str, Any]) -> bytes:
    return result(verdict("text_auto_obscene"), END) if params["body"]["text"].endswith("7") else CLEAN


async def test_offers_are_requested_in_batches_and_points_alone(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(workers=40, queue_size=1000, batch=25)
    moderation.stand_in.respond = refused_if_it_ends_with_7
    await seed(moderation, 90, kind=Kind.OFFER)
    await moderation.corrector.round(Kind.OFFER)
    moderation.start()
    point_id = await moderation.create_point()
    await until(lambda: not moderation.queue._known)
    sizes = [len(request.items) for request in moderation.stand_in.requests]
    assert sum(sizes) == 91
    assert max(sizes) == 25, "offers wait together, so they are requested together"
    for request in moderation.stand_in.requests:
        keys = {item["params"]["key"] for item in request.items}
        assert keys == {str(point_id)} or str(point_id) not in keys
    refused = await moderation.rows("SELECT text FROM subjects WHERE status = 'DISAPPROVED'")
    assert {text for (text,) in refused} == {f"text {n}" for n in range(7, 91, 10)}


@pytest.mark.parametrize(
    "content",
    [
        b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}',
        CLEAN,
        b"[]",
        b"[1]",
        b"no JSON",
    ],
)
async def test_a_batch_that_is_not_taken_leaves_every_text(make_moderation: MakeModeration, content: bytes) -> None:
    moderation = await make_moderation(workers=40, batch=25)
    moderation.stand_in.batch_content = content
    await seed(moderation, 10, kind=Kind.OFFER)
    await moderation.corrector.round(Kind.OFFER)
    moderation.start()
    await until(lambda: not moderation.queue._known)
    assert await moderation.rows("SELECT DISTINCT status FROM subjects") == [("PENDING",)]


async def test_a_text_that_is_missing_in_a_response_is_tried_again_alone(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(workers=40, batch=25)
    found = [json.loads(CLEAN) | {"id": number} for number in (3, 1, 1, 99)]
    moderation.stand_in.batch_content = json.dumps([*found, json.loads(CLEAN) | {"id": True}]).encode()
    await seed(moderation, 3, kind=Kind.OFFER)
    await moderation.corrector.round(Kind.OFFER)
    moderation.start()
    await until(lambda: not moderation.queue._known)
    assert await moderation.rows("SELECT status, count(*) FROM subjects GROUP BY 1 ORDER BY 1") == [
        ("APPROVED", 2), ("PENDING", 1),
    ]  # fmt: skip


async def test_what_failed_is_tried_again(moderation: Moderation) -> None:
    moderation.stand_in.status = 500
    moderation.start()
    point_id = await moderation.create_point()
    await until(lambda: not moderation.queue._known and bool(moderation.stand_in.requests))
    moderation.stand_in.status = 200
    await moderation.advance(RETRY_S - 5)
    assert await moderation.corrector.round(Kind.POINT) is False
    assert len(moderation.stand_in.requests) == 1
    await moderation.advance(5)
    await moderation.corrector.round(Kind.POINT)
    await until(lambda: not moderation.queue._known)
    assert (await moderation.subject(point_id)).status is Status.APPROVED


async def test_what_people_never_answered_is_tried_again(moderation: Moderation) -> None:
    moderation.stand_in.content = PEOPLE
    moderation.start()
    point_id = await moderation.create_point()
    await until(lambda: not moderation.queue._known and bool(moderation.stand_in.requests))
    await moderation.advance(RETRY_S + 5)
    await moderation.corrector.round(Kind.POINT)
    assert len(moderation.stand_in.requests) == 1
    moderation.stand_in.content = CLEAN
    await moderation.advance(PENDING_S - RETRY_S)
    await moderation.corrector.round(Kind.POINT)
    await until(lambda: not moderation.queue._known)
    assert (await moderation.subject(point_id)).status is Status.APPROVED


async def test_each_text_is_claimed_by_one_process(make_moderation: MakeModeration) -> None:
    first, second = await make_moderation(queue_size=1000), await make_moderation(queue_size=1000)
    await seed(first, 1500)
    await asyncio.gather(first.corrector.round(Kind.POINT), second.corrector.round(Kind.POINT))
    keys = [task.key for moderation in (first, second) for task in moderation.queue._waiting[Kind.POINT]]
    assert len(keys) == len(set(keys)) == 1500


async def test_claims_do_not_touch_points(moderation: Moderation) -> None:
    await moderation.create_point()
    before = await moderation.rows("SELECT version FROM points")
    await moderation.advance(RETRY_S + 1)
    await moderation.corrector.round(Kind.POINT)
    assert await moderation.rows("SELECT version FROM points") == before


async def test_full_queue_ends_the_round_and_the_next_begins_half_empty(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(queue_size=10)
    await seed(moderation, 25)
    assert await moderation.corrector.round(Kind.POINT) is True
    oldest = {task.key for task in moderation.queue._waiting[Kind.POINT]}
    expected = await moderation.rows("SELECT md5(n::text)::uuid::text FROM generate_series(16, 25) AS n")
    assert oldest == {key for (key,) in expected}
    moderation.start(moderation.corrector.run)
    for left in range(9, 5, -1):
        moderation.queue.done(await moderation.queue.take())
        assert moderation.queue.lengths()[Kind.POINT] == left
    moderation.queue.done(await moderation.queue.take())  # now it is half empty
    await until(lambda: moderation.queue.lengths()[Kind.POINT] == 10)


async def test_a_backlog_drains_at_the_rate_of_the_workers(make_moderation: MakeModeration) -> None:
    """With a check only every hour, 1,000 texts pass a queue of 100."""
    moderation = await make_moderation(queue_size=100, workers=16)
    await seed(moderation, 1000)
    moderation.start(moderation.judge.run, moderation.corrector.run)

    async def is_drained() -> bool:
        return await moderation.rows("SELECT count(*) FROM subjects WHERE status = 'PENDING'") == [(0,)]

    await until(is_drained, within_s=300)
    assert len(moderation.stand_in.requests) == 1000


async def test_equal_texts_are_requested_once(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(kept_s=3600.0, queue_size=1000)
    moderation.stand_in.content = result(verdict("police"), END)
    await seed(moderation, 200, same_text=True)
    moderation.start(moderation.judge.run, moderation.corrector.run)

    async def is_drained() -> bool:
        return await moderation.rows("SELECT count(*) FROM subjects WHERE status <> 'APPROVED'") == [(0,)]

    await until(is_drained)
    assert len(moderation.stand_in.requests) == 1
    assert await moderation.rows("SELECT DISTINCT verdicts -> 0 ->> 'name' FROM subjects") == [("police",)]


async def test_old_verdicts_are_not_used(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(kept_s=3600.0)
    moderation.start()
    await moderation.create_point("the same")
    await until(lambda: not moderation.queue._known)
    await moderation.rows("UPDATE verdict_cache SET stored_at = stored_at - interval '2 hours' RETURNING 1")
    await seed(moderation, 0)
    await moderation.create_point("the same")
    await until(lambda: len(moderation.stand_in.requests) == 2)


async def test_verdicts_are_kept_no_longer_for_being_used(make_moderation: MakeModeration) -> None:
    """Otherwise a text that arrives every day would never be requested again, even if the verdict service improves."""
    moderation = await make_moderation(kept_s=3600.0)
    await moderation.apply(await moderation.create_point("the same"))
    await moderation.rows("UPDATE verdict_cache SET stored_at = stored_at - interval '30 min' RETURNING 1")
    equal = await moderation.create_point("the same")
    await moderation.advance(RETRY_S)
    await moderation.corrector.round(Kind.POINT)
    assert (await moderation.subject(equal)).status is Status.APPROVED
    assert await moderation.rows("SELECT stored_at < now() - interval '29 min' FROM verdict_cache") == [(True,)]


async def test_a_text_that_cannot_be_recorded_holds_up_no_other(moderation: Moderation) -> None:
    broken = await moderation.create_point("broken")
    await moderation.refuse_decisions(broken)
    others = [await moderation.create_point(f"text {number}") for number in range(20)]
    moderation.start()
    await until(lambda: not moderation.queue._known)
    assert {(await moderation.subject(key)).status for key in others} == {Status.APPROVED}
    assert (await moderation.subject(broken)).status is Status.PENDING


async def test_kept_verdicts_that_cannot_be_recorded_do_not_end_the_role(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(kept_s=3600.0)
    await moderation.apply(await moderation.create_point("the same"))
    broken = await moderation.create_point("the same")
    await moderation.refuse_decisions(broken)
    await moderation.advance(RETRY_S + 1)
    before = SAVED._value.get()
    with capture_logs() as logs:
        assert await moderation.corrector.round(Kind.POINT) is False
    [line] = [line for line in logs if line["event"] == "moderation.verdicts.not_recorded"]
    assert line["key"] == str(broken)
    assert (await moderation.subject(broken)).status is Status.PENDING
    assert SAVED._value.get() == before


async def test_what_is_claimed_is_queued_although_new_texts_come_meanwhile(
    make_moderation: MakeModeration, monkeypatch: pytest.MonkeyPatch
) -> None:
    moderation = await make_moderation(queue_size=4)
    await seed(moderation, 4, kind=Kind.OFFER)
    claim = moderation.corrector._claim

    async def claim_and_queue(tx: Tx, kind: Kind, limit: int) -> list[DueText]:
        claimed = await claim(tx, kind, limit)
        moderation.queue.put_all([Task(f"new {number}", kind, "text", b"", ()) for number in range(2)])
        return claimed

    monkeypatch.setattr(moderation.corrector, "_claim", claim_and_queue)
    assert await moderation.corrector.round(Kind.OFFER) is True
    keys = {task.key for task in moderation.queue._waiting[Kind.OFFER]}
    assert keys == {"new 0", "new 1", *(f"offer/seller/default/{number}" for number in range(1, 5))}


@pytest.mark.parametrize("killed", [True, False])
async def test_texts_of_a_process_that_died_are_taken_by_another(make_moderation: MakeModeration, killed: bool) -> None:
    first, second = await make_moderation(), await make_moderation()
    point_id = await first.create_point()
    if not killed:
        first.start()
        first.stand_in.released.clear()
        await first.stand_in.arrived.wait()
        await first.close()
        first.stand_in.released.set()
    await second.advance(RETRY_S + 1)
    second.start(second.judge.run, second.corrector.run)

    async def is_approved() -> bool:
        return (await second.subject(point_id)).status is Status.APPROVED

    await until(is_approved)


async def test_more_verdicts_than_a_transaction_takes_are_all_recorded(make_moderation: MakeModeration) -> None:
    # Fails if a full batch is replaced by the next one while a transaction runs.
    moderation = await make_moderation()
    await seed(moderation, 650)
    keys = [key for (key,) in await moderation.rows("SELECT subject_key FROM subjects")]
    arrived = [Arrived(key, VerdictList(has_end=True)) for key in keys]
    async with asyncio.timeout(60):
        await asyncio.gather(*(moderation.record_verdicts([item]) for item in arrived))
    assert await moderation.rows("SELECT DISTINCT status FROM subjects") == [("APPROVED",)]


async def test_backlog_drains_whole_with_all_workers(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(workers=256, queue_size=1000)
    await seed(moderation, 1000)
    moderation.start(moderation.judge.run, moderation.corrector.run)

    async def is_drained() -> bool:
        return await moderation.rows("SELECT count(*) FROM subjects WHERE status = 'PENDING'") == [(0,)]

    await until(is_drained)
    assert len(moderation.stand_in.requests) == 1000


async def test_a_seller_with_many_texts_delays_no_other(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(queue_size=100)
    await seed_sellers(moderation, {"big": 5000}, age_s=3600)
    await seed_sellers(moderation, {"small": 10}, age_s=0)
    assert await claim_round(moderation) == {"big": 90, "small": 10}
    assert await claim_round(moderation) == {"big": 100}, "nobody else waits"


async def test_sellers_take_turns_and_the_oldest_texts_go_on_meanwhile(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(queue_size=100)
    sellers = {f"seller{number:03}": 20 for number in range(120)}
    await seed_sellers(moderation, {"big": 5000}, age_s=3600)
    await seed_sellers(moderation, sellers, age_s=0)
    rounds = [await claim_round(moderation) for _ in range(3)]
    assert all(claimed["big"] >= 50 for claimed in rounds)
    assert {seller for claimed in rounds for seller in claimed} == {"big", *sellers}
    assert max(max(claimed[seller] for seller in sellers) for claimed in rounds) == 1
    await seed_sellers(moderation, {"seller": 1}, age_s=0)
    assert any(["seller" in await claim_round(moderation) for _ in range(3)])
    left = await moderation.rows("SELECT count(*) FROM subjects WHERE next_retry <= now()")
    while (await claim_round(moderation)).total():
        pass
    assert left > [(0,)]
    assert await moderation.rows("SELECT count(*) FROM subjects WHERE next_retry <= now()") == [(0,)]


@pytest.mark.parametrize("queue_size", [1, 2, 3])
async def test_a_short_queue_gives_every_seller_its_turn(make_moderation: MakeModeration, queue_size: int) -> None:
    moderation = await make_moderation(queue_size=queue_size)
    await seed_sellers(moderation, {"big": 1000}, age_s=3600)
    await seed_sellers(moderation, {"a": 1, "z": 1}, age_s=0)
    claimed = Counter[str]()
    for _ in range(6):
        claimed += await claim_round(moderation)
    assert (claimed["a"], claimed["z"]) == (1, 1)


async def test_texts_that_cannot_be_claimed_are_named_until_they_can(
    moderation: Moderation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasting, "_NAMED_AFTER_S", 0.0)
    async with moderation.database.connection() as connection:
        await connection.execute("ALTER TABLE subjects RENAME TO away")
        moderation.start(moderation.corrector.run)
        await until(lambda: len(moderation.corrector.blocked()) == len(Kind))
        words = moderation.corrector.blocked()["offer texts"]
        assert re.match(r"queueing offer texts that are due has failed for \d+ s, (once|\d+ times): ", words), words
        assert 'relation "subjects" does not exist' in words
        await connection.execute("ALTER TABLE away RENAME TO subjects")
    moderation.corrector.wake()
    await until(lambda: not moderation.corrector.blocked())
