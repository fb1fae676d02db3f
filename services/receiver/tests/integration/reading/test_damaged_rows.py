"""A damaged row of the registry blocks nothing: it is left out, marked, reported, and replaced by the next push."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, RawDocument
from classifeed_domain.document_shards import hash_of, shard_of
from classifeed_receiver.app.reading.digest_shards import digest_shards
from classifeed_receiver.app.reading.scan_documents import ScanDocuments
from classifeed_receiver.app.upkeep.list_damaged import list_damaged
from classifeed_receiver.domain.cursors import ShardKey
from classifeed_receiver.domain.documents import Acknowledged, Retry, Stale, Status
from classifeed_receiver.domain.positions import RegistryPosition
from classifeed_receiver.metrics import DAMAGED
from classifeed_receiver.store import queues
from classifeed_receiver.store.kept_documents import KeptDocument, mark_damaged

from ...conftest import Build, Receiver

SHARD: Final = 3
PKS: Final = [pk for pk in (f"k{n}" for n in range(2000)) if shard_of(hash_of(pk)) == SHARD][:5]
LAST: Final = "set_byte(document, length(document) - 1, get_byte(document, length(document) - 1) # 1)"
# Damages of a row, each with a checksum, and without one as in rows of an earlier release.
DAMAGE: Final = {
    "a byte at the end": f"document = {LAST}",
    "a byte at the begin": "document = set_byte(document, 0, 255)",
    "cut off": "document = substr(document, 1, length(document) - 3)",
    "empty": "document = ''",
    "compression": "compression = 1 - compression",
    "epoch of the content": "document = {other_epoch}, compression = 0",
    "content of another key": "document = {other_key}, compression = 0",
}


async def damage(receiver: Receiver, pk: str, change: str, build: Build) -> None:
    others = {"other_epoch": build.upsert(pk, epoch=7), "other_key": build.upsert("another")}
    given = {name: f"'\\x{document.SerializeToString().hex()}'::bytea" for name, document in others.items()}
    await receiver.fetch(f"UPDATE documents SET {change.format(**given)} WHERE pk = %s RETURNING 1", pk)


async def status_of(receiver: Receiver, pk: str) -> Status:
    [(status,)] = await receiver.fetch("SELECT status FROM documents WHERE pk = %s", pk)
    return Status(status)


async def scan(receiver: Receiver) -> tuple[list[str], int]:
    """Return the keys of a shard that an index gets, and the number of rows left out."""
    scan_documents = ScanDocuments(receiver.database, receiver.epochs)
    page = await scan_documents("offers", SHARD, 1, None, limit_bytes=1_000_000)
    return [RawDocument.FromString(content).pk for content in page.documents], page.unreadable


async def read(receiver: Receiver) -> list[RawDocument]:
    cursors = {ShardKey(queue, SHARD): 0 for queue in (1, 2)}
    result = await receiver.read_elements("offers", cursors, limit=100, wait_s=0)
    return [element.document for element in result.elements]


@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("has_checksum", [True, False], ids=["checksum", "earlier release"])
@pytest.mark.parametrize("change", DAMAGE)
async def test_a_damaged_row_is_left_out_of_scans_and_marked(
    receiver: Receiver, build: Build, change: str, has_checksum: bool, is_compressed: bool
) -> None:
    title = "диван " * (500 if is_compressed else 1)
    await receiver.push(*[build.upsert(pk, title=title) for pk in PKS])
    assert await receiver.fetch("SELECT DISTINCT compression FROM documents") == [(int(is_compressed),)]
    if not has_checksum:
        await receiver.fetch("UPDATE documents SET checksum = NULL RETURNING 1")
    assert await scan(receiver) == ([pk for pk, _ in sorted(map(keyed, PKS), key=lambda each: each[1])], 0)
    await damage(receiver, PKS[2], DAMAGE[change], build)
    found, left_out = await scan(receiver)
    if not has_checksum and change == "a byte at the end" and not is_compressed:
        assert left_out == 0, "a flipped bit inside a text is seen by a checksum alone"
        return
    assert (set(found), left_out) == ({*PKS} - {PKS[2]}, 1)
    assert await status_of(receiver, PKS[2]) is Status.DAMAGED
    assert await scan(receiver) == (found, 0), "known by now"
    [digest] = await digest_shards(receiver.database, receiver.epochs, "offers", [SHARD])
    assert digest.sums.documents == len(PKS) - 1, "an index that leaves it out is equal"


def keyed(pk: str) -> tuple[str, tuple[int, str]]:
    return pk, (hash_of(pk), pk)


@pytest.mark.parametrize("column", ["version = version + 1", "epoch = epoch + 1", "checksum = checksum # 1"])
async def test_damaged_numbers_of_a_row_are_found(receiver: Receiver, build: Build, column: str) -> None:
    await receiver.push(build.upsert("a"))
    await receiver.fetch(f"UPDATE documents SET {column} RETURNING 1")
    await receiver.fetch(f"UPDATE elements SET {column.replace('checksum = checksum', 'idx = idx')} RETURNING 1")
    cursors = {ShardKey(1, shard): 0 for shard in range(64)}
    assert (await receiver.read_elements("offers", cursors, limit=100, wait_s=0)).elements == []
    assert await status_of(receiver, "a") is Status.DAMAGED


async def test_elements_of_a_damaged_row_are_passed_over(receiver: Receiver, build: Build) -> None:
    await receiver.push(*[build.upsert(pk) for pk in PKS])
    await damage(receiver, PKS[1], DAMAGE["a byte at the end"], build)
    for _ in range(2):
        assert {document.pk for document in await read(receiver)} == {*PKS} - {PKS[1]}
        assert await status_of(receiver, PKS[1]) is Status.DAMAGED
    [(pk, reason)] = await receiver.fetch("SELECT pk, reason FROM failures")
    assert (pk, reason) == (PKS[1], "the stored document is corrupt: its checksum differs from its content")


async def test_a_refill_leaves_damaged_rows_out(receiver: Receiver, build: Build) -> None:
    await receiver.push(*[build.upsert(pk) for pk in PKS])
    await damage(receiver, PKS[1], DAMAGE["a byte at the end"], build)
    await scan(receiver)
    async with receiver.database.connection() as connection:
        step = await queues.refill(connection, "offers", SHARD, RegistryPosition.begin_of(SHARD), 100)
    assert step is not None
    assert step.elements == len(PKS) - 1


@pytest.mark.parametrize("version", [5, 6])
async def test_a_push_replaces_a_damaged_row_and_reaches_the_indexes(
    receiver: Receiver, build: Build, version: int
) -> None:
    """A push of the same version repairs it, too, because the publisher still has the document."""
    await receiver.push(build.upsert(PKS[0], 5))
    await damage(receiver, PKS[0], DAMAGE["a byte at the end"], build)
    await scan(receiver)
    assert await receiver.push(build.upsert(PKS[0], 4)) == [Stale()]
    [outcome] = await receiver.push(build.upsert(PKS[0], version))
    assert isinstance(outcome, Acknowledged)
    assert outcome.position is not None, "it was written, not found to be stored"
    assert await status_of(receiver, PKS[0]) is Status.LIVE
    assert (await read(receiver))[-1] == build.upsert(PKS[0], version)
    assert (await scan(receiver))[1] == 0


async def test_a_repeated_push_finds_the_damage_and_the_next_one_replaces_the_row(
    receiver: Receiver, build: Build
) -> None:
    await receiver.push(build.upsert("a"))
    await damage(receiver, "a", DAMAGE["cut off"], build)
    assert await receiver.push(build.upsert("a")) == [Retry()]
    [outcome] = await receiver.push(build.upsert("a"))
    assert isinstance(outcome, Acknowledged)
    assert await receiver.push(build.upsert("a")) == [Acknowledged()]


async def test_a_damaged_tombstone_is_delivered_from_its_columns(receiver: Receiver, build: Build) -> None:
    await receiver.push(build.upsert(PKS[0], 1))
    await receiver.push(build.delete(PKS[0], 2))
    await damage(receiver, PKS[0], DAMAGE["empty"], build)
    [removed] = await read(receiver)
    assert removed == build.delete(PKS[0], 2)
    assert removed.action == DOCUMENT_ACTION_DELETE
    assert await receiver.push(build.delete(PKS[0], 2)) == [Acknowledged()]
    assert await status_of(receiver, PKS[0]) is Status.TOMBSTONE


async def test_a_row_that_an_earlier_release_has_overwritten_is_not_damaged(receiver: Receiver, build: Build) -> None:
    """During a rolling upgrade, it leaves the checksum of the previous document."""
    await receiver.push(build.upsert(PKS[0], 1))
    content = build.upsert(PKS[0], 2, title="стол").SerializeToString(deterministic=True)
    await receiver.fetch("UPDATE documents SET version = 2, document = %s, compression = 0 RETURNING 1", content)
    assert await scan(receiver) == ([PKS[0]], 0)


async def test_a_row_that_was_pushed_meanwhile_is_not_marked(receiver: Receiver, build: Build) -> None:
    await receiver.push(build.upsert("a"))
    columns = "epoch, version, modify_timestamp, status, compression, checksum, document"
    await damage(receiver, "a", DAMAGE["cut off"], build)
    [row] = await receiver.fetch(f"SELECT {columns} FROM documents")
    read_before = KeptDocument(*row)
    await receiver.push(build.upsert("a"))  # finds the damage
    await receiver.push(build.upsert("a"))  # replaces the row, with the same version
    async with receiver.database.connection() as connection:
        await mark_damaged(connection, "offers", [("a", read_before)])
    assert await status_of(receiver, "a") is Status.LIVE


async def test_damaged_rows_are_counted_and_named_with_the_fix(receiver: Receiver, build: Build) -> None:
    await receiver.push(*[build.upsert(f"k{n}") for n in range(7)])
    assert await list_damaged(receiver.database) == {}
    await receiver.fetch("UPDATE documents SET status = 3 RETURNING 1")
    [(what, why)] = (await list_damaged(receiver.database)).items()
    assert what == "damaged rows of offers"
    assert why.startswith("7 rows of the registry are damaged (")
    assert "and others)" in why
    assert "`classifeed index republish`" in why
    assert gauge() == {"offers": 7}
    await asyncio.gather(*[receiver.push(build.upsert(f"k{n}")) for n in range(7)])
    assert await list_damaged(receiver.database) == {}
    assert gauge() == {}


def gauge() -> dict[str, Any]:
    return {sample.labels["client"]: sample.value for metric in DAMAGED.collect() for sample in metric.samples}
