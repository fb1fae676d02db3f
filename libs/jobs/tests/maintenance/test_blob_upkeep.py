"""Maintenance of files by jobs, on a real object store: unneeded files are deleted, damaged ones reported."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from classifeed_common.blobs import BlobCorrupt, BlobMissing, BlobRefs, BlobStore, DamagedBlob
from classifeed_common.db import Tx, ddl
from classifeed_common.errors import Unavailable
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.imports import loaded_by
from classifeed_devkit.testing.stores import open_store
from classifeed_jobs import blobs as upkeep
from classifeed_jobs.blobs import BlobVerification, blob_upkeep
from classifeed_jobs.service import ServiceJobs

from ..conftest import until

REFS = BlobRefs()
NO_GRACE_S = -5.0


@pytest.fixture
async def store(s3: EmbeddedS3) -> AsyncIterator[BlobStore]:
    async with open_store(s3, owner="pictures") as store:
        yield store


@pytest.fixture
async def tables(bench: Any) -> Any:
    await bench.execute(ddl("blob_refs", 1))
    await bench.execute("CREATE TABLE reported (sha256 text, fault text)")
    return bench


async def note_damaged(tx: Tx, damaged: Sequence[DamagedBlob]) -> None:
    for each in damaged:
        await tx.execute("INSERT INTO reported VALUES (%s, %s)", (each.sha256, each.fault))


async def put(bench: Any, store: BlobStore, content: bytes, ref: str) -> str:
    sha256 = hashlib.sha256(content).hexdigest()
    async with bench.db.transaction() as tx:
        await REFS.add(tx, sha256, ref)
    await store.put_bytes(content, sha256)
    return sha256


async def run_verification(bench: Any, store: BlobStore, **changes: Any) -> Any:
    """Run one verification job to its completion; return its id."""
    job = BlobVerification("t.verify-blobs", store, **{"on_damaged": note_damaged} | changes)
    bench.registry = job.tasks()
    job_id = await bench.enqueue(job.name)
    async with bench.working(1):
        assert await bench.ended(job_id) == ["succeeded"]
    return job_id


async def reported(bench: Any) -> dict[str, str]:
    rows = await bench.execute("SELECT sha256, fault FROM reported")
    assert len(rows) == len(dict(rows)), "reported twice"
    return dict(rows)


async def test_a_service_that_is_handed_the_jobs_sweeps_audits_and_verifies_by_its_schedules(
    tables: Any, store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_SWEEP_EVERY_S", 1)
    monkeypatch.setattr(upkeep, "_AUDIT_EVERY_S", 1)
    monkeypatch.setattr(upkeep, "_VERIFY_EVERY_S", 1)
    needed = await put(tables, store, b"needed", "a")
    free = await put(tables, store, b"free", "b")
    unknown = hashlib.sha256(b"unknown").hexdigest()
    await store.put_bytes(b"unknown", unknown)
    missing = await put(tables, store, b"missing", "c")
    await store.delete(missing)
    async with tables.db.transaction() as tx:
        await REFS.drop(tx, "b")

    async def no_grace_s() -> float:
        return NO_GRACE_S

    own = blob_upkeep("t", tables.db, store, grace_s=no_grace_s, on_damaged=note_damaged)
    assert [each.name for each in own] == ["t.sweep-blobs", "t.audit-blobs", "t.verify-blobs"]
    jobs = ServiceJobs(tables.db, {}, upkeep=own)

    async def is_done() -> bool:
        return await store.list_own() == [needed] and {missing: "missing"} == dict(
            await tables.execute("SELECT DISTINCT sha256, fault FROM reported")
        )

    async with AsyncExitStack() as stack:
        for role in jobs.roles({}, drain_grace_s=5.0):
            await stack.enter_async_context(running(role))
        await until(is_done)
    assert free not in dict(await tables.execute("SELECT sha256, ref_count FROM blobs"))


async def test_every_file_that_is_missing_or_corrupt_is_reported_once_and_no_other(
    tables: Any, store: BlobStore, s3: EmbeddedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_READ_AT_ONCE", 4)
    hashes = [await put(tables, store, f"file {number}".encode(), "a") for number in range(12)]
    missing, corrupt, unneeded = sorted(hashes)[0], sorted(hashes)[7], sorted(hashes)[8]
    await store.delete(missing)
    await store.delete(unneeded)
    async with tables.db.transaction() as tx:
        await REFS.drop_many(tx, [(unneeded, "a")])
    [object_path] = s3.data_dir.glob(f"*/pictures/{corrupt}")
    object_path.write_bytes(object_path.read_bytes().upper())
    await run_verification(tables, store)
    assert await reported(tables) == {missing: "missing", corrupt: "corrupt"}
    with pytest.raises(BlobMissing):
        await store.get_bytes(corrupt)  # so that storing the same content repairs it
    number = hashes.index(corrupt)
    await store.put_bytes(f"file {number}".encode(), corrupt)
    assert await store.get_bytes(corrupt) == f"file {number}".encode()


class FlickeringStore:
    """The real store, in which the first read of each file fails."""

    def __init__(self, store: BlobStore, fault: Exception) -> None:
        self._store = store
        self._fault = fault
        self.read: list[str] = []

    async def verify(self, sha256: str) -> int:
        self.read.append(sha256)
        if self.read.count(sha256) == 1:
            raise self._fault
        return await self._store.verify(sha256)

    async def delete(self, sha256: str) -> None:
        await self._store.delete(sha256)


async def test_bytes_that_changed_on_the_way_are_no_damage(tables: Any, store: BlobStore) -> None:
    sha256 = await put(tables, store, b"good", "a")
    await run_verification(tables, FlickeringStore(store, BlobCorrupt("on the way")))  # type: ignore[arg-type]
    assert await reported(tables) == {}
    assert await store.get_bytes(sha256) == b"good"


async def test_a_store_that_is_away_is_no_damage_and_the_next_run_goes_on_from_where_it_was(
    tables: Any, store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_READ_AT_ONCE", 3)
    hashes = sorted([await put(tables, store, f"file {number}".encode(), "a") for number in range(9)])

    class AwayOnce(FlickeringStore):
        is_away = True

        async def verify(self, sha256: str) -> int:
            self.read.append(sha256)
            if sha256 == hashes[7] and self.is_away:
                self.is_away = False
                raise self._fault
            return await self._store.verify(sha256)

    away = AwayOnce(store, Unavailable("OBJECT_STORE_UNAVAILABLE", "away"))
    await run_verification(tables, away)  # type: ignore[arg-type]
    assert away.read == [*hashes[:8], *hashes[6:]]
    assert await reported(tables) == {}


async def test_what_is_reported_and_where_it_goes_on_commit_together(
    tables: Any, store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_READ_AT_ONCE", 2)
    hashes = sorted([await put(tables, store, f"file {number}".encode(), "a") for number in range(6)])
    for sha256 in hashes:
        await store.delete(sha256)
    failures = 2

    async def failing_behind(tx: Tx, damaged: Sequence[DamagedBlob]) -> None:
        nonlocal failures
        await note_damaged(tx, damaged)
        if hashes[2] in {each.sha256 for each in damaged} and failures:
            failures -= 1
            raise Unavailable("DATABASE_UNAVAILABLE", "away")

    await run_verification(tables, store, on_damaged=failing_behind)
    assert await reported(tables) == dict.fromkeys(hashes, "missing")


async def test_what_was_swept_while_it_was_read_is_not_reported(tables: Any, store: BlobStore) -> None:
    sha256 = await put(tables, store, b"swept", "a")

    class SweptMeanwhile(FlickeringStore):
        async def verify(self, sha256: str) -> int:
            async with tables.db.transaction() as tx:
                await REFS.drop(tx, "a")
            await REFS.sweep(tables.db, store, grace_s=NO_GRACE_S)
            return await store.verify(sha256)

    await run_verification(tables, SweptMeanwhile(store, BlobMissing(sha256)))  # type: ignore[arg-type]
    assert await reported(tables) == {}


def test_the_engine_itself_needs_no_object_store() -> None:
    loaded = loaded_by("classifeed_jobs.service")
    assert "classifeed_jobs.service" in loaded
    assert "minio" not in loaded
