"""Keys in the rows of pictures: stored, deleted and filled in, also concurrently."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from classifeed_common.db import Database, Tx, load_queries
from classifeed_devkit.testing.recovery import until
from classifeed_jobs import JobStore
from classifeed_pictures.app.states.find_similar import list_alike
from classifeed_pictures.domain.similarity import similarity_key
from classifeed_pictures.jobs.fill_similarity_keys import TASK, NoArgs
from classifeed_pictures.store.files.stored import delete_stored, put_stored
from classifeed_pictures.store.states.similar import BEGIN, fill_keys, key_parameters, list_similar

from ..conftest import Service
from .gallery import Hung, hang_all, stored

SQL = load_queries("classifeed_pictures.store.states", "similar.sql")

MigratedDatabase = Callable[[str], Awaitable[Database]]
HASH = bytes.fromhex("f0f1f2f3f4f5f6f7")
REFERENCE = "LzHLk#2swxX8l}WDjte;gJfjfQfj"
# Rows as processes of the previous release write them.
OLD = """
INSERT INTO stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info,
                             pieces)
VALUES (%(namespace)s, %(group_id)s, %(name)s, %(url_hash)s, 1, '', 1, 1, %(info)s, '[]')
"""


def pictures(count: int) -> list[Hung]:
    """Return pictures of one motif."""
    source = random.Random(7)
    hashes = [int.from_bytes(HASH, "big") ^ 1 << source.randrange(64) for _ in range(count)]
    return [Hung(number, 1, "", "", hashed.to_bytes(8, "big")) for number, hashed in enumerate(hashes, 1)]


async def names_found(tx: Tx) -> set[str]:
    sought = Hung(10**6, 1, "", "", HASH).likeness
    return {row.info.name for row in await list_similar(tx, sought, limit=10_000)}


async def test_what_is_found_is_what_is_stored_after_concurrent_changes(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_pictures")
    gallery = pictures(30)

    async def change(seed: int) -> None:
        source = random.Random(seed)
        for _ in range(25):
            picture = source.choice(gallery)
            info = stored(picture).info
            async with database.transaction() as tx:
                if source.random() < 0.5:
                    await put_stored(tx, stored(picture))
                else:
                    await delete_stored(tx, info.namespace, info.group_id, info.name, attempt=1)

    await asyncio.gather(*(change(seed) for seed in range(4)))
    async with database.transaction() as tx:
        rows = await (await tx.execute("SELECT name FROM stored_pictures")).fetchall()
        assert 0 < len(rows) < len(gallery)
        assert await names_found(tx) == {name for (name,) in rows}
        for picture in gallery:
            info = stored(picture).info
            await delete_stored(tx, info.namespace, info.group_id, info.name, attempt=1)
        assert await names_found(tx) == set()
        left = await tx.execute(
            SQL["list_keys"],
            key_parameters(similarity_key(HASH), 10),
        )
        assert await left.fetchall() == []


async def test_pages_hold_copies_however_many_other_drawings_are_nearer(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_pictures")
    sparse, red, blue = b"\x0f" * 6 + bytes(2), REFERENCE, REFERENCE[:2] + "0000" + REFERENCE[6:]
    others = [Hung(number, 1, "", "", sparse, blue) for number in range(1, 451)]
    copies = [Hung(number, 2, "", "", b"\x0f" * 6 + b"\0\x01", red) for number in range(451, 456)]
    await hang_all(database, [*others, *copies])
    original = Hung(10**6, 2, "", "", sparse, red)
    pages: list[list[str]] = []
    after = BEGIN
    async with database.transaction() as tx:
        while True:
            page = await list_alike(tx, original.info, original.likeness, after=after, limit=2)
            pages.append([row.info.name for row in page.rows])
            if page.next is None:
                break
            after = page.next
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [name for page in pages for name in page] == sorted(picture.name for picture in copies)


async def test_a_page_reads_so_much_and_no_more(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_pictures")
    sparse, red, blue = b"\x0f" * 6 + bytes(2), REFERENCE, REFERENCE[:2] + "0000" + REFERENCE[6:]
    copy = Hung(2002, 2, "", "", b"\x0f" * 6 + b"\0\x01", red)
    await hang_all(database, [*(Hung(number, 1, "", "", sparse, blue) for number in range(1, 2002)), copy])
    original = Hung(10**6, 2, "", "", sparse, red)
    async with database.transaction() as tx:
        first = await list_alike(tx, original.info, original.likeness, limit=2)
        assert first.rows == []
        assert first.next is not None
        second = await list_alike(tx, original.info, original.likeness, after=first.next, limit=2)
    assert [row.info.name for row in second.rows] == [copy.name]
    assert second.next is None


async def test_a_search_is_neither_a_scan_nor_compiled(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_pictures")
    async with database.transaction() as tx:
        await names_found(tx)
        settings = (
            "SELECT current_setting('jit'), current_setting('enable_seqscan'), current_setting('enable_hashjoin')"
        )
        assert await (await tx.execute(settings)).fetchone() == ("off", "off", "off")
    async with database.transaction() as tx:
        assert await (await tx.execute("SELECT current_setting('enable_seqscan')")).fetchone() == ("on",)


async def test_rows_of_the_version_before_are_filled_slice_by_slice(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_pictures")
    gallery = pictures(7)
    await hang_all(database, gallery[:2])
    async with database.transaction() as tx:
        for picture in gallery[2:]:
            info = stored(picture).info
            row = {"namespace": "offers", "group_id": info.group_id, "name": info.name, "url_hash": picture.url_hash}
            await tx.execute(OLD, row | {"info": info.SerializeToString()})
        assert await names_found(tx) == {picture.name for picture in gallery[:2]}
        first = await fill_keys(tx, ("", -1, ""), 3)
        assert len(first) == 3
        assert len(await fill_keys(tx, first[-1], 3)) == 2
        assert await names_found(tx) == {picture.name for picture in gallery}
        assert await fill_keys(tx, ("", -1, ""), 3) == []


async def test_the_job_fills_what_has_no_key(service: Service) -> None:
    gallery = pictures(600)
    await hang_all(service.database, gallery)
    async with service.database.transaction() as tx:
        await tx.execute("UPDATE stored_pictures SET similarity_key = NULL")
        assert await names_found(tx) == set()
        await JobStore().enqueue(tx, TASK, TASK, NoArgs(), lock_key=TASK)

    async def is_filled() -> bool:
        async with service.database.transaction() as tx:
            return len(await names_found(tx)) == len(gallery)

    await until(is_filled)
