"""Event files in the bucket: each is processed once, even if processes are killed, and deleted after some time.

This file is also the process that a test kills: `python <this file> <json>`.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from classifeed_common.blobs.client import S3Client
from classifeed_common.db import Database
from classifeed_common.kafka import KafkaProducer, Message
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import until
from classifeed_jobs import CleanUp, JobStore, Reaper, Registry, Worker
from classifeed_jobs import ddl as jobs_ddl
from classifeed_jobs.service import ServiceJobs
from classifeed_jobs.testing import lost_lease
from classifeed_pictures.app.events.list_event_files import remove_event_files
from classifeed_pictures.app.events.make_events import EventMaker
from classifeed_pictures.app.events.take_event_file import TakeEventFile
from classifeed_pictures.clients.event_bucket import EventBucket
from classifeed_pictures.domain.urls.canonical import CanonicalRules
from classifeed_pictures.jobs.event_files import (
    LIST_QUEUE,
    LIST_TASK,
    TAKE_QUEUE,
    event_files_schedule,
    register_event_files,
)

pytestmark = pytest.mark.kafka
RULES = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": []})
SHARDS = 8
ROWS = 5500
GATE_ROW = 3210
URL = "http://example.com/"
HEADER = "url,kind,namespace,recipient,reference,event_time\n"


class DyingProducer:
    """Kills its process, like the kernel, before or after it sends the event of one row."""

    def __init__(self, producer: KafkaProducer, *, is_sent: bool) -> None:
        self._producer = producer
        self._is_sent = is_sent

    async def send(self, messages: Sequence[Message], *, limit_s: float | None) -> None:
        is_gate = any(f"{URL}{GATE_ROW}".encode() in message.value for message in messages)
        if not is_gate or self._is_sent:
            await self._producer.send(messages, limit_s=limit_s)
        if is_gate:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Files:
    """A bucket with event files, and its jobs."""

    bucket: EventBucket
    client: S3Client
    bucket_name: str
    database: Database
    producer: Any
    topic: str
    spool: Path
    rules: CanonicalRules = RULES
    limit_bytes: int = 1 << 20
    registry: Registry = field(default_factory=Registry)

    def __post_init__(self) -> None:
        taker = TakeEventFile(
            self.bucket,
            self.producer,
            make_events=lambda: EventMaker(self.rules, SHARDS, self.topic),
            spool_dir=self.spool,
            limit_bytes=self.limit_bytes,
        )
        register_event_files(self.registry, self.bucket, taker)
        self.store = JobStore(tasks=self.registry)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        worker = Worker(
            self.database,
            self.store,
            self.registry,
            queues={LIST_QUEUE: 1, TAKE_QUEUE: 2},
            claim_backoff_s=0.1,
            drain_grace_s=0.0,
        )
        reaper = Reaper(self.database, self.registry, reaper_period_s=0.5, grace_s=0.1)
        tasks = [asyncio.create_task(worker.run(stop)), asyncio.create_task(reaper.run(stop))]
        try:
            yield
        finally:
            stop.set()
            await asyncio.gather(*tasks)

    async def list_bucket(self) -> None:
        """List the bucket once, like the schedule."""
        async with self.database.transaction() as tx:
            await self.store.enqueue(tx, LIST_QUEUE, LIST_TASK, {})

    async def is_idle(self) -> bool:
        return await self.rows("SELECT count(*) FROM dl_jobs_done") == await self.rows(
            "SELECT (SELECT count(*) FROM dl_jobs_done) + (SELECT count(*) FROM dl_jobs)"
        )

    async def take(self) -> None:
        """List the bucket, and process new files completely."""
        await self.list_bucket()
        async with self.working():
            await until(self.is_idle)

    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()

    async def files(self) -> list[tuple[Any, ...]]:
        return await self.rows("SELECT name, state, rows, wrong_rows FROM event_files ORDER BY name, listed_at")

    async def put(self, name: str, content: bytes | str) -> None:
        content = content.encode() if isinstance(content, str) else content
        await self.client.run(
            lambda client: client.put_object(self.bucket_name, name, io.BytesIO(content), len(content))
        )

    async def names(self) -> list[str]:
        return [file.name async for page in self.bucket.list_pages() for file in page]


def bucket_of(settings: dict[str, Any]) -> tuple[S3Client, EventBucket]:
    client = S3Client(settings["endpoint"], settings["access_key"], settings["secret_key"], threads=2, retries=0)
    return client, EventBucket(client, settings["bucket"])


async def take_and_die(settings: dict[str, Any]) -> None:
    database = Database(settings["dsn"], schema="test", application_name="taking")
    await database.open()
    producer = KafkaProducer(settings["bootstrap"], client_id="taking")
    await producer.start()
    client, bucket = bucket_of(settings)
    dying = DyingProducer(producer, is_sent=settings["is_sent"])
    files = Files(bucket, client, settings["bucket"], database, dying, settings["events"], Path(settings["spool"]))
    async with files.working():
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(take_and_die(json.loads(sys.argv[1])))
else:
    from ..samples import growth
    from .conftest import Keys, Shown, once, repeated


@pytest.fixture
def s3_settings(s3: Any) -> dict[str, Any]:
    return {
        "endpoint": s3.endpoint,
        "access_key": s3.access_key,
        "secret_key": s3.secret_key,
        "bucket": f"t-{secrets.token_hex(6)}",
    }


@pytest.fixture
async def files(
    keys: Keys, s3_settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Files]:
    migration = import_module("classifeed_pictures.migrations.versions.20261202_1_pre_event_files")
    statements: list[str] = [jobs_ddl(number) for number in range(1, 6)]
    monkeypatch.setattr(migration, "op", SimpleNamespace(execute=statements.append))
    migration.upgrade()
    async with keys.database.transaction() as tx:
        for statement in statements:
            await tx.execute(statement)
    client, bucket = bucket_of(s3_settings)
    await client.run(lambda minio: minio.make_bucket(s3_settings["bucket"]))
    yield Files(bucket, client, s3_settings["bucket"], keys.database, keys.producer, keys.events, tmp_path / "spool")
    bucket.close()


def csv_of(count: int, first: int = 0) -> str:
    return HEADER + "".join(f"{URL}{row},look_again\n" for row in range(first, first + count))


def rows_of(shown: Sequence[Shown]) -> list[int]:
    return sorted(int(each.event.url.removeprefix(URL)) for each in shown)


async def test_rows_of_each_kind_become_events(keys: Keys, files: Files) -> None:
    before = datetime.now(UTC)
    table = {
        "url": ["HTTP://example.COM/a#b", URL, URL, "shops/1/a"],
        "kind": ["requested", "look_again", "delete", "delete"],
        "namespace": ["offers", None, None, "offers"],
        "recipient": ["shop", None, None, None],
        "reference": ["x", None, None, None],
        "event_time": pa.array([datetime(2026, 11, 24), datetime(2026, 11, 23), None, None], pa.timestamp("ms")),
    }
    sink = io.BytesIO()
    parquet.write_table(pa.table(table), sink)
    await files.put("events/day/a.parquet", sink.getvalue())
    await files.put("other/b.csv", csv_of(3))
    done, made = growth("event_files_total", outcome="done"), growth("events_total", source="files")
    await files.take()
    assert (done(), made()) == (1, 4)
    assert await files.files() == [("events/day/a.parquet", "DONE", 4, 0)]
    [(etag,)] = await files.rows("SELECT etag FROM event_files")
    found = {each.event.source.position: each.event for each in await keys.shown()}
    assert {event.source.name for event in found.values()} == {f"events/day/a.parquet@{etag}"}
    assert [found[row].url for row in range(4)] == ["http://example.com/a", URL, URL, "shops/1/a"]
    assert [found[row].WhichOneof("event") for row in range(4)] == [
        "requested", "look_again", "delete_picture", "delete_picture",
    ]  # fmt: skip
    requested = found[0].requested
    assert (requested.namespace, requested.recipient, requested.reference) == ("offers", "shop", "x")
    assert requested.requested_url == "HTTP://example.COM/a#b"
    assert found[0].event_time.ToDatetime(UTC) == datetime(2026, 11, 24, tzinfo=UTC)
    assert (found[2].delete_picture.reason, found[2].delete_picture.namespace) == (2, "")
    assert found[3].delete_picture.namespace == "offers"
    assert abs(found[2].event_time.ToDatetime(UTC) - before) < timedelta(minutes=5), "the time when it was put"
    await keys.send(keys.request(URL, "http://example.com/a"), keys.load(URL))
    await keys.reshard()
    shards: dict[str, set[int]] = {}
    for each in await keys.shown():
        shards.setdefault(each.event.url, set()).add(each.partition)
    assert all(len(partitions) == 1 for partitions in shards.values()), "files and topics agree on the shard of a URL"


async def test_wrong_rows_stop_nothing(keys: Keys, files: Files) -> None:
    await files.put(
        "events/a.csv",
        f"{HEADER},delete\n{URL}1,remove\n{URL}2,requested,Bad!,shop\n{URL}3,requested,offers,\n{URL}4,requested,offers,shop\n"
        f"{URL}{'a' * 4100},delete\n{URL}5,delete,\n",
    )
    refused = growth("refused_items_total", outcome="row")
    await files.take()
    assert refused() == 5
    assert await files.files() == [("events/a.csv", "DONE", 7, 5)]
    assert rows_of(await keys.shown()) == [4, 5]


async def test_the_same_file_put_twice_is_taken_once_and_a_changed_one_is_another(keys: Keys, files: Files) -> None:
    for _ in range(2):
        await files.put("events/a.csv", csv_of(10))
        await files.take()
    assert len(await keys.shown()) == 10
    await files.put("events/a.csv", csv_of(20))
    await files.take()
    assert await files.files() == [("events/a.csv", "DONE", 10, 0), ("events/a.csv", "DONE", 20, 0)]
    shown = await keys.shown()
    assert len(shown) == len(once(shown)) == 30, "rows of the changed file are new, as it is a different file"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("events/a.csv", b"hello\n", "events/a.csv there is no column url"),
        ("events/a.parquet", b"hello\n", "events/a.parquet is no Parquet file that can be read"),
        ("events/a.xlsx", b"hello\n", "events/a.xlsx is neither called"),
        ("events/a.csv", b"x" * (1 << 20) + b"x", "1048577 bytes; 1048576 are allowed"),
    ],
)
async def test_what_is_no_event_file_ends_in_words(
    keys: Keys, files: Files, name: str, content: bytes, words: str
) -> None:
    await files.put(name, content)
    failed = growth("event_files_total", outcome="failed")
    await files.take()
    assert failed() == 1
    [(state, error)] = await files.rows("SELECT state, error FROM event_files")
    assert state == "FAILED"
    assert words in error
    assert await keys.shown() == []


async def test_a_file_that_was_replaced_before_it_was_taken(keys: Keys, files: Files) -> None:
    """Other bytes are a different file; the first file is processed if it comes back."""
    await files.put("events/a.csv", csv_of(1))
    async with files.database.transaction() as tx:
        page = [file async for page in files.bucket.list_pages() for file in page]
        await tx.execute(
            "INSERT INTO event_files (name, etag, size_bytes, put_at) VALUES (%s, %s, 1, %s)", page[0][:2] + page[0][3:]
        )
        args = page[0]._asdict() | {"put_at": page[0].put_at.isoformat()}
        await files.store.enqueue(tx, TAKE_QUEUE, TAKE_QUEUE, args)
    await files.put("events/a.csv", csv_of(2, first=1))
    replaced = growth("event_files_total", outcome="replaced")
    async with files.working():
        await until(files.is_idle)
    assert replaced() == 1
    assert await files.files() == [("events/a.csv", "REPLACED", 0, 0)]
    await files.take()
    await files.put("events/a.csv", csv_of(1))
    await files.take()
    assert await files.files() == [("events/a.csv", "DONE", 1, 0), ("events/a.csv", "DONE", 2, 0)]
    assert rows_of(await keys.shown()) == [0, 1, 2]


async def test_finished_files_go_after_their_days(keys: Keys, files: Files) -> None:
    await files.put("events/a.csv", csv_of(1))
    await files.put("events/b.csv", "nothing")
    await files.put("events/c.csv", csv_of(1))
    await files.take()
    await files.put("events/c.csv", csv_of(2))  # the next listing will find it
    clean_up = CleanUp("x", [lambda *step: remove_event_files(*step, bucket=files.bucket, kept_days=30)])
    now = datetime.now(UTC)
    assert await clean_up.run(files.database, now + timedelta(days=29)) == 0
    assert await files.names() == ["events/a.csv", "events/b.csv", "events/c.csv"]
    assert await clean_up.run(files.database, now + timedelta(days=31)) == 3
    assert await files.names() == ["events/c.csv"]
    await files.take()
    assert await files.files() == [("events/c.csv", "DONE", 2, 0)]


async def test_many_files_are_listed_in_pages(keys: Keys, files: Files) -> None:
    await asyncio.gather(*(files.put(f"events/{number:04}.txt", b"") for number in range(1100)))
    await files.put("events/2000.csv", csv_of(1))
    sizes = [len(page) async for page in files.bucket.list_pages()]
    assert sizes == [1000, 101]


async def test_the_schedule_lists_again_and_again(keys: Keys, files: Files) -> None:
    """As in the service: the role of the jobs creates the schedule."""
    jobs = ServiceJobs(files.database, files.registry, own_schedules=[event_files_schedule(1)])
    roles = jobs.roles({LIST_QUEUE: 1, TAKE_QUEUE: 1}, drain_grace_s=0, claim_backoff_s=0.1)
    stop = asyncio.Event()
    running = [asyncio.ensure_future(role.run(stop)) for role in roles]
    for number in range(2):
        await files.put(f"events/{number}.csv", csv_of(1, first=number))

        async def is_taken(count: int = number + 1) -> bool:
            return [file[1] for file in await files.files()] == ["DONE"] * count

        await until(is_taken)
    stop.set()
    await asyncio.gather(*running)
    assert rows_of(await keys.shown()) == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_name", "is_sent"),
    [
        ("parquet", True),
        *(pytest.param(*each, marks=in_campaigns) for each in [("csv", False), ("csv", True), ("parquet", False)]),
    ],
)
async def test_killed_in_the_middle_of_a_file(
    keys: Keys,
    files: Files,
    s3_settings: dict[str, Any],
    tmp_path: Path,
    format_name: str,
    is_sent: bool,
) -> None:
    content = csv_of(ROWS).encode()
    if format_name == "parquet":
        sink = io.BytesIO()
        urls = [f"{URL}{row}" for row in range(ROWS)]
        parquet.write_table(pa.table({"url": urls, "kind": ["look_again"] * ROWS}), sink, row_group_size=1500)
        content = sink.getvalue()
    await files.put(f"events/a.{format_name}", content)
    await files.list_bucket()
    settings = s3_settings | {"dsn": keys.database.dsn, "bootstrap": keys.bootstrap, "events": keys.events}
    settings |= {"spool": str(tmp_path / "spool"), "is_sent": is_sent}
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, json.dumps(settings), stdin=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(150):
            assert await process.wait() == -signal.SIGKILL
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    [(_, state, rows, _)] = await files.files()
    assert state == "WAITING"
    assert 1000 <= rows <= GATE_ROW
    async with lost_lease(files.database, process.pid), files.working():
        await until(files.is_idle)
    assert await files.files() == [(f"events/a.{format_name}", "DONE", ROWS, 0)]
    shown = await keys.shown()
    assert rows_of(once(shown)) == list(range(ROWS))
    assert repeated(shown) <= 1000, "what was sent before the process died, and nothing before that"
    assert (repeated(shown) > 0) == is_sent
