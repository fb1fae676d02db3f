"""Each group of tables is restored without the others: the service repairs it, and reports it until then."""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

import httpx
import pytest

from classifeed.offers.v1.offer_service_pb2 import RequestPicturesRequest, RequestPicturesResponse
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceServicer
from classifeed.pictures.v1.picture_service_pb2 import DeletePicturesRequest, PutPictureRequest
from classifeed_devkit.testing.databases import TableBackup
from classifeed_devkit.testing.recovery import until
from classifeed_jobs import JobStore
from classifeed_pictures.app.files.check_stored import check_stored
from classifeed_pictures.app.restores.find_restored import FindRestored
from classifeed_pictures.domain.lifecycle.recipients import OFFERS
from classifeed_pictures.jobs.close_event_gaps import open_gap
from classifeed_pictures.parts.outside import bucket_client
from classifeed_pictures.parts.tuning import Tuning
from classifeed_pictures.store.tables import metadata

from ..backup_runs import snapshot
from ..conftest import Service
from ..picture_host import PictureHost, Respond, jpeg
from ..states.offers_server import served

TABLES: Final = frozenset(
    name.removeprefix("queue.")
    for name in metadata.tables
    if not name.endswith("_default")  # a partition of another table
)
EVENT_FILES: Final = "event files"
GROUPS: Final = {
    "states": ("pictures",),
    "requests": ("requests_in_flight", "settled_requests"),
    "requests that wait": ("requests_in_flight",),
    "requests that are settled": ("settled_requests",),
    "stored pictures": ("stored_pictures", "blobs", "blob_refs", "namespace_usage"),
    EVENT_FILES: ("event_files",),
    "positions in Kafka": ("consumer_offsets",),
    "outbox": ("outbox",),
    "jobs": tuple(sorted(name for name in TABLES if name.startswith("dl_"))),
    "what no picture depends on": (
        "namespaces", "comparisons", "used_urls", "canonical_rules", "robots_rules", "fetch_hosts", "event_gaps",
        "leases", "table_marks",
    ),
}  # fmt: skip
NOTICED: Final = {
    "states": {"pictures"},
    "requests": {"requests_in_flight", "settled_requests"},
    "requests that wait": {"requests_in_flight"},
    "requests that are settled": {"settled_requests"},
    "stored pictures": {"stored_pictures"},
    EVENT_FILES: {"event_files"},
    "jobs": {"dl_jobs"},
}
EVENTS: Final = "pictures"
OLD: Final = "UPDATE stored_pictures SET stored_at = now() - interval '2 days' RETURNING 1"
A_DAY_LATER: Final = "UPDATE table_marks SET noticed_at = noticed_at - interval '1 day' RETURNING 1"


def test_each_table_belongs_to_a_group() -> None:
    assert {table for tables in GROUPS.values() for table in tables} == TABLES


class Offers(OfferServiceServicer):
    """Counts the calls that request all pictures again."""

    calls = 0

    async def RequestPictures(self, request: RequestPicturesRequest, context: Any) -> RequestPicturesResponse:
        self.calls += 1
        return RequestPicturesResponse(job_id="job")


@pytest.fixture
async def offers() -> AsyncIterator[tuple[Offers, str]]:
    servicer = Offers()
    async with served(servicer) as address:
        yield servicer, address


@pytest.fixture
def options(offers: tuple[Offers, str]) -> dict[str, Any]:
    return {"offers_address": offers[1], "backup_s": 10**9, "jobs_lease_s": 3}


@pytest.fixture
def tuning() -> Tuning:
    return Tuning(event_files_s=1, relay_lease_s=2)


async def test_each_group_that_goes_back_alone_is_equal_again(
    service: Service,
    host: PictureHost,
    offers: tuple[Offers, str],
    http: httpx.AsyncClient,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Pictures are requested, stored and deleted between the copy of a group and its restore."""
    notice = FindRestored(service.database, EVENTS, JobStore(), partial(open_gap, store=JobStore()))
    await service.pictures.PutPicture(iter([PutPictureRequest(url="by-hand", namespace="shops", data=jpeg(0))]))
    for number, (group, tables) in enumerate(GROUPS.items(), 1):
        capsys.readouterr()
        try:
            await go_back(service, host, offers[0], notice, group, tables, first=number * 100)
        except (AssertionError, TimeoutError) as error:
            raise AssertionError(f"the group {group}: {error!r}") from error
        noticed = re.findall(r"pictures\.table\.restored .*table=(\w+)", capsys.readouterr().out)
        assert set(noticed) == NOTICED.get(group, set()), group

    # A running download, whose job is lost.
    path, gate = "/under-way.jpg", asyncio.Event()
    host.responses[path] = behind(gate, host, jpeg(2))
    backup = TableBackup(service.database, *GROUPS["jobs"])
    await backup.take()
    await request(service, host.url(path))
    await until(lambda: host.count(path) > 0)
    await notice()
    await backup.restore()
    await until(lambda: is_named_by_readiness(http, "table dl_jobs"))
    gate.set()
    await until(lambda: is_settled(service, {host.url(path)}))
    assert host.count(path) == 2

    # A restore has lost requests of another client. Only that client knows them, so the loss is reported for a day.
    await until(lambda: has_nothing(notice))
    other = host.put("/other.jpg", jpeg(1))
    await request(service, other, client="shop")
    await until(lambda: is_settled(service, {other}))
    backup = TableBackup(service.database, *GROUPS["requests that are settled"])
    await until(lambda: has_nothing(notice))
    await backup.take()
    await until(lambda: has_nothing(notice))
    await backup.restore()
    await until(lambda: is_named_by_readiness(http, "table settled_requests"))
    await until(lambda: has_closed_gaps(service))
    assert "(`classifeed picture request`)" in (await notice())["table settled_requests"]
    await service.rows(A_DAY_LATER)
    await until(lambda: has_nothing(notice))


async def go_back(
    service: Service,
    host: PictureHost,
    offers: Offers,
    notice: FindRestored,
    group: str,
    tables: tuple[str, ...],
    *,
    first: int,
) -> None:
    """Copy a group, change its contents, restore the copy, and return once the state is as before."""
    deleted, kept, *lost = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(first, first + 4)]
    path, gate = f"/{first + 4}.jpg", asyncio.Event()

    host.responses[path] = behind(gate, host, jpeg(first + 4))
    for url in (deleted, kept, host.url(path)):
        await request(service, url)
    await until(lambda: is_settled(service, {deleted, kept}))
    await until(lambda: host.count(path) > 0)
    if group == EVENT_FILES:
        await put_event_file(service, kept)
    await until(lambda: has_nothing(notice))
    backup = TableBackup(service.database, *tables)
    await backup.take()

    gate.set()
    for url in lost:
        await request(service, url)
    await service.pictures.DeletePictures(DeletePicturesRequest(urls=[deleted]))
    await until(lambda: is_settled(service, {kept, *lost, host.url(path)}, without=deleted))
    await until(lambda: is_quiet(service))
    if group == EVENT_FILES:
        await service.rows("UPDATE event_files SET state = 'DONE', ended_at = now() RETURNING 1")
    await until(lambda: has_nothing(notice))
    expected, calls = await snapshot(service), offers.calls

    await backup.restore()
    for table in tables:  # other groups have this table, too
        async with service.database.transaction() as tx:
            await tx.execute(f"DROP TABLE backup_{table}")
    await notice()
    if group.startswith("requests"):
        await until(lambda: offers.calls > calls)
        for url in (kept, *lost, host.url(path)):
            await request(service, url)
    await request(service, lost[0])  # without an event a consumer compares its positions every 10 s
    try:
        await until(lambda: is_equal(service, group, expected), 60)
    except TimeoutError:
        found = await snapshot(service)
        different = {what: list_differences(found[what], expected[what]) for what in found}
        assert not any(different.values()), different
        raise
    if group == EVENT_FILES:
        await until(lambda: is_taken(service))


def behind(gate: asyncio.Event, host: PictureHost, picture: bytes) -> Respond:
    """Return a page that responds with a picture once a gate is open."""

    async def respond(writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        await host._respond(writer, picture, b"")

    return respond


def list_differences(found: Any, expected: Any) -> list[Any]:
    """Return the items that only one of two dictionaries or sets has."""
    pairs = [set(map(str, each.items() if isinstance(each, dict) else each)) for each in (found, expected)]
    return sorted(pairs[0] ^ pairs[1])


async def request(service: Service, url: str, client: str = OFFERS) -> None:
    """Request a picture with the same reference each time."""
    await service.request([url], prefix=url, client=client)


async def put_event_file(service: Service, url: str) -> None:
    """Put a file whose row says that a job is processing it."""
    content = f"url,kind\n{url},look_again\n".encode()
    etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
    query = (
        "INSERT INTO event_files (name, etag, size_bytes, put_at) VALUES ('events/a.csv', %s, %s, now()) RETURNING 1"
    )
    await service.rows(query, etag, len(content))
    client = bucket_client(service.settings)
    await client.run(
        lambda minio: minio.put_object(service.settings.bucket, "events/a.csv", io.BytesIO(content), len(content))
    )
    client.close()


async def has_nothing(notice: FindRestored) -> bool:
    return await notice() == {}


async def has_closed_gaps(service: Service) -> bool:
    return await service.rows("SELECT 1 FROM event_gaps WHERE closed_at IS NULL") == []


async def is_named_by_readiness(http: httpx.AsyncClient, item: str) -> bool:
    return item in (await http.get("/health/ready")).text


async def is_taken(service: Service) -> bool:
    return await service.rows("SELECT state, rows FROM event_files") == [("DONE", 1)]


async def is_settled(service: Service, urls: set[str], without: str = "") -> bool:
    """Return whether requests of some URLs have their pictures, and those of another URL are deleted."""
    settled = {url for (url,) in await service.rows("SELECT requested_url FROM settled_requests")}
    return urls <= settled and without not in settled


async def is_quiet(service: Service) -> bool:
    """Return whether all messages are sent, and deletions are complete everywhere."""
    deleted = "SELECT 1 FROM stored_pictures WHERE url_hash NOT IN (SELECT url_hash FROM pictures)"
    return await service.rows(f"SELECT 1 FROM outbox UNION ALL {deleted}") == []


async def is_equal(service: Service, group: str, expected: dict[str, Any]) -> bool:
    if group == "stored pictures":
        await service.rows(OLD)  # pictures deleted since the copy are deleted again after a day
        async with service.database.transaction() as tx:
            await check_stored(tx, None, limit=1000)
    return await snapshot(service) == expected
