from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FailedPrecondition
from classifeed_domain.document_shards import hash_of, shard_of
from classifeed_receiver.app.upkeep.list_abandoned import list_abandoned
from classifeed_receiver.domain.documents import CONFLICT, Acknowledged, EpochTooOld, Invalid, Retry, Stale, Status
from classifeed_receiver.domain.schemas import EpochState
from classifeed_receiver.store import registry
from classifeed_receiver.store.compression import decompress

from ...conftest import Build, Receiver


async def stored(receiver: Receiver, pk: str) -> RawDocument:
    rows = await receiver.fetch("SELECT compression, document FROM documents WHERE pk = %s", pk)
    return RawDocument.FromString(decompress(*rows[0]))


async def elements_of(receiver: Receiver, pk: str) -> list[tuple[int, int]]:
    sql = "SELECT idx, version FROM elements WHERE pk = %s AND queue = 1 ORDER BY idx"
    return [(idx, version) for idx, version in await receiver.fetch(sql, pk)]


async def test_document_is_in_registry_and_queue_once_acknowledged(receiver: Receiver, build: Build) -> None:
    [outcome] = await receiver.push(build.upsert("a", 3))
    assert isinstance(outcome, Acknowledged)
    assert outcome.position is not None
    assert outcome.position.shard == shard_of(hash_of("a"))
    assert await stored(receiver, "a") == build.upsert("a", 3)
    assert await elements_of(receiver, "a") == [(outcome.position.idx, 3)]


async def test_fresher_wins_in_every_order(receiver: Receiver, build: Build) -> None:
    """Four documents of one key, in every order, one push each: the freshest stays and each loser is STALE."""
    later = build.upsert("x").timestamp.ToDatetime() + timedelta(microseconds=1)
    ladder = [(1, None), (2, None), (2, later), (3, None)]
    for number, order in enumerate(permutations(range(len(ladder)))):
        pk = f"p{number}"
        made = [
            build.upsert(pk, version, title=str(step), **({"at": at} if at else {}))
            for step, (version, at) in enumerate(ladder)
        ]
        top = -1
        for step in order:
            [outcome] = await receiver.push(made[step])
            assert isinstance(outcome, Acknowledged if step > top else Stale)
            top = max(top, step)
        assert (await stored(receiver, pk)).fields[0].values[0].string_value == "3"


async def test_repeated_push_is_acknowledged_and_written_once(receiver: Receiver, build: Build) -> None:
    for _ in range(3):
        [outcome] = await receiver.push(build.upsert("a", 3))
        assert isinstance(outcome, Acknowledged)
    assert len(await elements_of(receiver, "a")) == 1


async def test_what_is_stale_or_repeated_is_one_debug_line_with_its_key(receiver: Receiver, build: Build) -> None:
    await receiver.push(build.upsert("a", 3), build.upsert("b", 3))
    with capture_logs() as logs:
        await receiver.push(build.upsert("a", 2), build.upsert("b", 3), build.upsert("c", 1))
    assert [(line["log_level"], line["event"], line["pk"]) for line in logs] == [
        ("debug", "receiver.document.stale", "a"),
        ("debug", "receiver.document.repeated", "b"),
    ]


async def test_same_freshness_with_other_content_is_a_conflict(receiver: Receiver, build: Build) -> None:
    await receiver.push(build.upsert("a", 3, title="диван"))
    assert await receiver.push(build.upsert("a", 3, title="кресло")) == [CONFLICT]
    assert await stored(receiver, "a") == build.upsert("a", 3, title="диван")


async def test_several_versions_of_a_key_in_one_batch(receiver: Receiver, build: Build) -> None:
    outcomes = await receiver.push(
        build.upsert("a", 2),
        build.upsert("b", 1),
        build.upsert("a", 5),
        build.upsert("a", 5),
        build.upsert("a", 5, title="other"),
        build.upsert("a", 1),
    )
    assert [type(outcome) for outcome in outcomes] == [Stale, Acknowledged, Acknowledged, Acknowledged, Invalid, Stale]
    assert [version for _, version in await elements_of(receiver, "a")] == [5]


async def test_delete_of_unknown_key_makes_a_tombstone_that_older_ones_do_not_pass(
    receiver: Receiver, build: Build
) -> None:
    [outcome] = await receiver.push(build.delete("ghost", 5))
    assert isinstance(outcome, Acknowledged)
    assert await receiver.push(build.upsert("ghost", 4)) == [Stale()]
    assert await receiver.fetch("SELECT status, version FROM documents") == [(Status.TOMBSTONE, 5)]
    [outcome] = await receiver.push(build.upsert("ghost", 6))
    assert isinstance(outcome, Acknowledged)


async def test_wrong_document_does_not_hide_the_others(receiver: Receiver, build: Build) -> None:
    wrong = build.upsert("b")
    wrong.fields.add(name="colour").values.add(string_value="red")
    outcomes = await receiver.push(build.upsert("a"), wrong, build.upsert("c"))
    assert [type(outcome) for outcome in outcomes] == [Acknowledged, Invalid, Acknowledged]


async def test_documents_of_the_active_epoch_alone_are_taken(receiver: Receiver, build: Build) -> None:
    await receiver.push(build.upsert("a", 99), build.upsert("b", 1))
    await receiver.put_epoch(build.schema(4), EpochState.OPEN)
    for epoch in (4, 9):
        [outcome] = await receiver.push(build.upsert("a", 1, epoch=epoch))
        assert isinstance(outcome, Invalid)
        assert "is not the active epoch; compose the document for 1" in outcome.violations[0].description
    await receiver.put_epoch(build.schema(5), EpochState.ACTIVE)
    assert await receiver.push(build.upsert("b", 2)) == [EpochTooOld(current_epoch=5)]
    [outcome] = await receiver.push(build.upsert("a", 1, epoch=5))
    assert isinstance(outcome, Acknowledged), "a higher epoch wins with any version"


async def test_what_an_abandoned_epoch_stores_gives_way(receiver: Receiver, build: Build) -> None:
    """An earlier release accepted a second epoch with documents; the migration abandons the epoch."""
    await receiver.put_epoch(build.schema(2), EpochState.OPEN)
    await receiver.push(build.upsert("a", 5))
    content = build.upsert("a", 7, epoch=2).SerializeToString(deterministic=True)
    await receiver.fetch(
        "UPDATE documents SET epoch = 2, version = 7, compression = 0, checksum = NULL, document = %s RETURNING 1",
        content,
    )
    assert await receiver.push(build.upsert("a", 6)) == [Stale()]
    await receiver.fetch("UPDATE schemas SET state = 3 WHERE epoch = 2 RETURNING 1")
    receiver.epochs.forget("offers")
    found = await list_abandoned(receiver.database)
    assert "1 documents are stored in epoch 2" in found["offers"]
    assert "classifeed index republish" in found["offers"]
    assert await receiver.push(build.upsert("a", 9, epoch=2)) == [EpochTooOld(current_epoch=1)]
    [outcome] = await receiver.push(build.upsert("a", 6))
    assert isinstance(outcome, Acknowledged)
    assert (await stored(receiver, "a")).version == 6
    assert await receiver.push(build.upsert("a", 5)) == [Stale()], "from now on versions count again"
    assert await list_abandoned(receiver.database) == {}


async def test_field_put_at_another_replica_is_known_at_once(
    receiver: Receiver, make_receiver: Callable[..., Any], build: Build
) -> None:
    other = make_receiver(epochs_refresh_s=3600)
    await other.push(build.upsert("a"))
    wider = build.schema()
    wider.fields.add(name="colour", type="FIELD_TYPE_STRING")
    await receiver.put(wider)
    document = build.upsert("a", 2)
    document.fields.add(name="colour").values.add(string_value="red")
    deadline = asyncio.get_running_loop().time() + 60
    while isinstance((await other.push(document))[0], Invalid):
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.01)
    await other.push_documents.stop()


async def test_client_without_schema_is_refused_as_a_whole(receiver: Receiver, build: Build) -> None:
    with pytest.raises(FailedPrecondition) as raised:
        await receiver.push(build.upsert("a"), client="points")
    assert raised.value.reason == "CLIENT_HAS_NO_SCHEMA"


async def test_clients_do_not_see_each_other(receiver: Receiver, build: Build) -> None:
    await receiver.put(build.schema(1, client="points"))
    await receiver.push(build.upsert("a", 5))
    [outcome] = await receiver.push(build.upsert("a", 1), client="points")
    assert isinstance(outcome, Acknowledged)
    assert await receiver.fetch("SELECT client, version FROM documents ORDER BY client") == [
        ("offers", 5),
        ("points", 1),
    ]


async def race(push: Callable[[RawDocument], Any], build: Build, *, keys: int, versions: int) -> dict[str, list[Any]]:
    """Eight writers push the versions of some keys in random order; return the outcome of each key's winner."""
    rng = random.Random(7)
    documents = [build.upsert(f"k{key}", version) for key in range(keys) for version in range(1, versions + 1)]
    rng.shuffle(documents)
    outcomes: dict[str, list[Any]] = {}

    async def write(mine: list[RawDocument]) -> None:
        for document in mine:
            outcome = await push(document)
            outcomes.setdefault(document.pk, []).append((document.version, outcome))

    await asyncio.gather(*[write(documents[writer::8]) for writer in range(8)])
    return outcomes


async def test_racing_writers(receiver: Receiver, make_receiver: Callable[..., Any], build: Build) -> None:
    """Two replicas, eight writers: at rest each key has its freshest version, whose writer has ACK."""
    replicas = [make_receiver(limit_s=300) for _ in range(2)]
    rng = random.Random(1)

    async def push(document: RawDocument) -> Any:
        return (await rng.choice(replicas).push(document))[0]

    by_key = await race(push, build, keys=6, versions=40)
    versions = dict(await receiver.fetch("SELECT pk, version FROM documents"))
    assert versions == {f"k{key}": 40 for key in range(6)}
    for outcomes in by_key.values():
        assert [type(outcome) for version, outcome in outcomes if version == 40] == [Acknowledged]
        assert {type(outcome) for _, outcome in outcomes} == {Acknowledged, Stale}
    # Every acknowledged write has an element, in the order of the winning writes.
    for key in range(6):
        written = [version for _, version in await elements_of(receiver, f"k{key}")]
        assert written == sorted(set(written))
        assert written[-1] == 40
    for replica in replicas:
        await replica.push_documents.stop()


async def test_the_naive_way_lets_an_older_one_win(receiver: Receiver, build: Build) -> None:
    """Read, compare, write: of two writers that have both read, the older one may write last."""
    await receiver.push(build.upsert("k0", 1))
    newest_is_written = asyncio.Event()
    older_has_read = asyncio.Event()

    async def read_then_write(version: int) -> None:
        async with receiver.database.transaction() as tx:
            row = await (await tx.execute("SELECT version FROM documents WHERE pk = 'k0'")).fetchone()
            assert row is not None
            assert row[0] < version, "as far as this one can see, its version is the newest"
            if version < 40:
                older_has_read.set()
                await newest_is_written.wait()
            await tx.execute("UPDATE documents SET version = %s WHERE pk = 'k0'", [version])

    async with asyncio.timeout(120), asyncio.TaskGroup() as writers:
        writers.create_task(read_then_write(2))
        await older_has_read.wait()
        await read_then_write(40)
        newest_is_written.set()
    assert await receiver.fetch("SELECT version FROM documents") == [(2,)]


async def test_concurrent_pushes_share_transactions(receiver: Receiver, build: Build) -> None:
    before = await receiver.fetch("SELECT count(DISTINCT xmin::text) FROM documents")
    outcomes = await asyncio.gather(*[receiver.push(build.upsert(f"k{number}")) for number in range(50)])
    assert all(isinstance(outcome[0], Acknowledged) for outcome in outcomes)
    transactions = await receiver.fetch("SELECT count(DISTINCT xmin::text) FROM documents")
    assert before == [(0,)]
    assert transactions[0][0] <= 5


async def test_small_push_waits_for_others(make_receiver: Callable[..., Any], build: Build) -> None:
    receiver = make_receiver(coalesce_documents=2)
    await receiver.put(build.schema())
    receiver.push_documents._coalescer._coalesce_s = 3600.0  # so that only the second push ends the wait of the first
    first = asyncio.create_task(receiver.push(build.upsert("a")))
    await asyncio.sleep(0.02)
    assert not first.done()
    await asyncio.gather(first, receiver.push(build.upsert("b")))
    assert await receiver.fetch("SELECT count(DISTINCT xmin::text) FROM documents") == [(1,)]
    await receiver.push_documents.stop()


async def test_a_push_that_fails_does_not_fail_those_it_shares_a_transaction_with(
    receiver: Receiver, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents = registry.write_documents

    async def fail_on_poison(tx: Tx, client: str, documents: Any, **options: Any) -> Any:
        if any(document.pk == "poison" for document in documents):
            raise psycopg.errors.CharacterNotInRepertoire("no such character")
        return await write_documents(tx, client, documents, **options)

    monkeypatch.setattr(registry, "write_documents", fail_on_poison)
    results = await asyncio.gather(
        receiver.push(build.upsert("a")),
        receiver.push(build.upsert("poison")),
        receiver.push(build.upsert("b")),
        return_exceptions=True,
    )
    good, bad, other = results
    assert isinstance(good, list)
    assert isinstance(other, list)
    assert isinstance(good[0], Acknowledged)
    assert isinstance(other[0], Acknowledged)
    assert isinstance(bad, psycopg.errors.CharacterNotInRepertoire)


async def test_passing_failure_is_told_as_retry(
    make_receiver: Callable[..., Any], receiver_database: Database, build: Build
) -> None:
    receiver, hasty = make_receiver(limit_s=300), make_receiver(limit_s=0.2)
    await receiver.put(build.schema())
    await receiver.push(build.upsert("a", 1))
    async with receiver_database.transaction() as tx:
        await tx.execute("SELECT FROM documents WHERE pk = 'a' FOR UPDATE")
        assert await hasty.push(build.upsert("a", 2)) == [Retry()]
    [outcome] = await receiver.push(build.upsert("a", 2))
    assert isinstance(outcome, Acknowledged)
    for each in (receiver, hasty):
        await each.push_documents.stop()


async def test_large_document_is_kept_compressed(receiver: Receiver, build: Build) -> None:
    await receiver.push(build.upsert("a", title="диван " * 2000))
    [(compression, size)] = await receiver.fetch("SELECT compression, octet_length(document) FROM documents")
    assert (compression, size < 2000) == (1, True)
    assert await stored(receiver, "a") == build.upsert("a", title="диван " * 2000)
