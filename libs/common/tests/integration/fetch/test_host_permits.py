"""Fetchers with a shared table of hosts: requests of two processes, each with its own connection pool, at servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from classifeed_common.db import Database, ddl
from classifeed_common.fetch import AddressGuard, Fetched, FetchLimits, FetchRequest, HostPaused, KeepAlive
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.host_limits import HostLimits, HostPolicy, OwnerLimits

from .conftest import Serve
from .loopback_web import Handler, LoopbackRequest, code_of

StartFetcher = Callable[..., Awaitable[Fetcher]]

HOST = "127.0.0.1"
PATIENT = FetchLimits(connect_s=120, read_s=120, total_s=120)


def steady(rate: float, **settings: Any) -> HostPolicy:
    return HostPolicy(
        **{
            "first_rate": rate,
            "lowest_rate": min(rate, 0.1),
            "highest_rate": rate,
            "at_a_time": 99,
            "max_wait_s": 60,
            **settings,
        }
    )


@pytest.fixture
async def process(database: Database) -> AsyncIterator[StartFetcher]:
    """Start processes: `await process(policy)`; those with another schema have a separate table."""
    made: set[str] = set()
    async with AsyncExitStack() as stack:

        async def start(policy: HostPolicy, *, schema: str = "public", **options: Any) -> Fetcher:
            own = Database(database.dsn, schema=schema, application_name="process", max_size=2)
            await own.open()
            stack.push_async_callback(own.close)
            if schema not in made:
                made.add(schema)
                async with own.connection() as connection:
                    await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
                    await connection.execute(ddl("fetch_hosts", 1) + ddl("fetch_hosts", 2))
            permits = options.pop("limits_of", HostLimits)(own, policy)
            stack.push_async_callback(permits.close)
            guard = AddressGuard(allow_loopback=True, resolver=options.pop("resolver", None))
            fetcher = Fetcher(guard=guard, permits=permits, **{"limits": PATIENT, **options})
            stack.push_async_callback(fetcher.close)
            return fetcher

        yield start


async def rate_of(database: Database, host: str = HOST) -> float:
    async with database.connection() as connection:
        (rate,) = await (
            await connection.execute("SELECT rate FROM public.fetch_hosts WHERE host = %s", [host])
        ).fetchone() or (0,)
    return float(rate)


async def report_all(fetcher: Fetcher) -> None:
    """Write all reports of a fetcher about hosts."""
    permits = fetcher._means.permits
    assert isinstance(permits, HostLimits)
    await permits.close()


def busiest_second(times_s: Sequence[float]) -> int:
    """Return the largest number in a second, less a tenth: a request may be delayed that long on a busy machine."""
    return max(sum(start_s <= each < start_s + 0.9 for each in times_s) for start_s in times_s)


@pytest.mark.parametrize("shares", [True, False], ids=["one table", "naive"])
async def test_no_second_sees_more_requests_than_the_rate(
    shares: bool, process: StartFetcher, serve: Serve, tmp_path: Path
) -> None:
    times_s: list[float] = []

    async def note(request: LoopbackRequest) -> None:
        times_s.append(time.monotonic())
        await request.respond(b"x")

    web = await serve(note, keeps=True)
    fetchers = [
        await process(steady(10), schema="public" if shares else f"own{number}", keep=KeepAlive(idle_s=number % 2 * 60))
        for number in range(5)
    ]
    jobs = (
        fetchers[number % 5].fetch(FetchRequest(web.url(f"/{number}")), tmp_path / str(number)) for number in range(25)
    )
    assert all(isinstance(each, Fetched) for each in await asyncio.gather(*jobs))
    assert len(times_s) == 25
    assert (busiest_second(times_s) <= 10) == shares


async def test_so_many_are_under_way_at_a_time(process: StartFetcher, serve: Serve, tmp_path: Path) -> None:
    running = most = 0

    async def count(request: LoopbackRequest) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        await request.respond(b"x")

    web = await serve(count)
    fetchers = [await process(steady(1000, at_a_time=3)) for _ in range(2)]
    jobs = (fetchers[number % 2].fetch(FetchRequest(web.url()), tmp_path / str(number)) for number in range(30))
    await asyncio.gather(*jobs)
    assert most <= 3


@pytest.mark.parametrize("form", ["seconds", "date"])
@pytest.mark.parametrize("status", [429, 503])
async def test_nothing_is_sent_within_retry_after(
    status: int, form: str, process: StartFetcher, serve: Serve, tmp_path: Path
) -> None:
    times: list[datetime] = []
    until = datetime.now(UTC)

    async def refuse_once(request: LoopbackRequest) -> None:
        nonlocal until
        times.append(datetime.now(UTC))
        if len(times) > 1:
            await request.respond(b"x")
            return
        until = (times[0] + timedelta(seconds=5)).replace(microsecond=0)
        after = format_datetime(until, usegmt=True)
        if form == "seconds":
            until, after = times[0] + timedelta(seconds=4), "4"
        await request.respond(status=status, Retry_After=after)

    web = await serve(refuse_once, keeps=True)
    first, second, hurried = [
        await process(steady(100, max_wait_s=wait_s), keep=KeepAlive(idle_s=60)) for wait_s in (60, 60, 0)
    ]
    await code_of(first, web.url(), tmp_path / "file")
    with pytest.raises(HostPaused) as paused:
        await hurried.fetch(FetchRequest(web.url()), tmp_path / "file")
    assert abs((paused.value.until - until).total_seconds()) < 30
    jobs = (fetcher.fetch(FetchRequest(web.url()), tmp_path / "file") for fetcher in (first, second))
    await asyncio.gather(*jobs)
    assert min(times[1:]) >= until
    assert len(times) == 3


async def test_a_redirect_draws_the_permit_of_the_host_that_it_leads_to(
    process: StartFetcher, serve: Serve, tmp_path: Path
) -> None:
    async def here(_: str) -> list[str]:
        return ["127.0.0.1"]

    async def handler(request: LoopbackRequest) -> None:
        if request.target == "/moved":
            await request.respond(status=302, Location=web.url("/there", host="other.example.com"))
        else:
            await request.respond(status=429, Retry_After="3600")

    web = await serve(handler)
    fetcher = await process(steady(100, max_wait_s=3), resolver=here)
    assert (await code_of(fetcher, web.url("/moved", "shop.example.com"), tmp_path / "file")).retry_after_s == 3600
    for target, host in (("/moved", "shop.example.com"), ("/there", "other.example.com")):
        with pytest.raises(HostPaused) as paused:
            await fetcher.fetch(FetchRequest(web.url(target, host)), tmp_path / "file")
        assert paused.value.host == "other.example.com"
    assert [request.target for request in web.requests] == ["/moved", "/there", "/moved"]


async def test_a_request_that_is_repeated_on_a_new_connection_counts_twice(
    process: StartFetcher, serve: Serve, tmp_path: Path
) -> None:
    times_s: list[float] = []

    async def closes_at_the_second(request: LoopbackRequest) -> None:
        times_s.append(time.monotonic())
        if len(times_s) == 2:
            request.writer.close()
        else:
            await request.respond(b"x")

    web = await serve(closes_at_the_second, keeps=True)
    fetcher = await process(steady(2), keep=KeepAlive(idle_s=60))
    for _ in range(2):
        await fetcher.fetch(FetchRequest(web.url()), tmp_path / "file")
    assert len(times_s) == 3
    assert busiest_second(times_s) <= 2


async def test_time_does_not_run_while_a_permit_is_waited_for(
    process: StartFetcher, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(lambda request: request.respond(b"x"))
    fetcher = await process(steady(0.2))
    limits = FetchLimits(total_s=4)
    for _ in range(2):  # each takes four seconds, with five between them
        await fetcher.fetch(FetchRequest(web.url()), tmp_path / "file", limits)


async def silent(request: LoopbackRequest) -> None:
    await request.left_alone()


@pytest.mark.parametrize(
    ("handler", "limits", "factor"),
    [
        (lambda request: request.respond(b"x"), PATIENT, 1.1),
        (lambda request: request.respond(status=302, Location="/file"), PATIENT, 1.0),
        (lambda request: request.respond(status=404), PATIENT, 1.0),
        (lambda request: request.respond(status=500), PATIENT, 1.0),
        (lambda request: request.respond(status=429), PATIENT, 0.5),
        (lambda request: request.respond(status=503), PATIENT, 0.5),
        (silent, FetchLimits(read_s=0.2), 0.5),
        (silent, FetchLimits(total_s=0.2), 0.5),
    ],
    ids=["file", "circle", "404", "500", "429", "503", "silence", "total"],
)
async def test_responses_change_the_rate(
    handler: Handler,
    limits: FetchLimits,
    factor: float,
    process: StartFetcher,
    serve: Serve,
    database: Database,
    tmp_path: Path,
) -> None:
    web = await serve(handler)
    fetcher = await process(HostPolicy(first_rate=100, highest_rate=200, step=1000))
    outcome = asyncio.gather(
        fetcher.fetch(FetchRequest(web.url("/file")), tmp_path / "x", limits), return_exceptions=True
    )
    await outcome
    await report_all(fetcher)
    assert await rate_of(database) == pytest.approx(100 * factor)


async def test_whoever_gives_up_does_not_slow_the_host(
    process: StartFetcher, serve: Serve, database: Database, tmp_path: Path
) -> None:
    web = await serve(silent)
    fetcher = await process(HostPolicy(first_rate=100, highest_rate=200))
    download = asyncio.create_task(fetcher.fetch(FetchRequest(web.url()), tmp_path / "x"))
    async with asyncio.timeout(60):
        while not web.requests:
            await asyncio.sleep(0.01)
    download.cancel()
    await asyncio.gather(download, return_exceptions=True)
    await report_all(fetcher)
    assert await rate_of(database) == 100


async def test_a_slow_host_is_asked_whatever_it_takes_to_connect(
    process: StartFetcher, serve: Serve, tmp_path: Path
) -> None:
    """At one request in ten seconds, the permit is too old once the connection is open; its time must not be lost."""

    async def slowly(_: str) -> list[str]:
        await asyncio.sleep(0.4)
        return [HOST]

    web = await serve(lambda request: request.respond(b"x"))
    fetchers = [await process(steady(0.1, max_wait_s=1), resolver=slowly) for _ in range(2)]
    url = web.url(host="shop.example.com")
    assert isinstance(await fetchers[0].fetch(FetchRequest(url), tmp_path / "a"), Fetched)
    with pytest.raises(HostPaused) as paused:
        await fetchers[1].fetch(FetchRequest(url), tmp_path / "b")
    await asyncio.sleep(paused.value.wait_s)
    assert isinstance(await fetchers[1].fetch(FetchRequest(url), tmp_path / "b"), Fetched)
    assert len(web.requests) == 2


async def test_a_redirect_within_a_host_keeps_its_place(process: StartFetcher, serve: Serve, tmp_path: Path) -> None:
    """A caller whose request was sent does not have to repeat it because requests of others came between."""

    async def handler(request: LoopbackRequest) -> None:
        if request.target == "/moved":
            await request.respond(status=302, Location="/there")
        else:
            await request.respond(b"x")

    web = await serve(handler)
    fetcher = await process(steady(20, at_a_time=1))
    await asyncio.gather(
        *(fetcher.fetch(FetchRequest(web.url(path)), tmp_path / path[1:]) for path in ("/moved", "/other"))
    )
    assert [request.target for request in web.requests] == ["/moved", "/there", "/other"]


async def test_a_long_pause_of_an_owner_s_request_is_a_short_one_for_others(
    process: StartFetcher, serve: Serve, tmp_path: Path
) -> None:
    web = await serve(lambda request: request.respond(status=429, Retry_After="86400"))
    first, second = [await process(steady(1000, max_wait_s=1), limits_of=OwnerLimits) for _ in range(2)]
    await code_of(first, FetchRequest(web.url(), owner="a"), tmp_path / "file")
    for owner, longest_s in (("a", 86400), ("b", 600), ("", 600)):
        with pytest.raises(HostPaused) as paused:
            await second.fetch(FetchRequest(web.url(), owner=owner), tmp_path / "file")
        assert longest_s / 2 < paused.value.wait_s <= longest_s
        assert paused.value.by_retry_after
    assert len(web.requests) == 1


@pytest.mark.parametrize("owner", ["flood", ""], ids=["shares", "naive"])
async def test_a_slow_file_of_one_owner_leaves_the_host_to_another(
    owner: str, process: StartFetcher, serve: Serve, tmp_path: Path
) -> None:
    """A host of many sellers gets one request at a time of one seller, from any number of processes."""
    go_on = asyncio.Event()

    async def respond(request: LoopbackRequest) -> None:
        if request.target.startswith("/slow"):
            await go_on.wait()
        await request.respond(b"x")

    web = await serve(respond)
    policy = steady(1e5, at_a_time=2, max_wait_s=1)
    fetchers = [await process(policy, limits_of=OwnerLimits) for _ in range(2)]
    patient = await process(steady(1e5, at_a_time=2), limits_of=OwnerLimits)

    def fetch(number: int, path: str, owner: str) -> Awaitable[object]:
        return fetchers[number % 2].fetch(FetchRequest(web.url(path), owner=owner), tmp_path / f"{number}")

    slow = [asyncio.ensure_future(fetch(number, f"/slow{number}", owner)) for number in range(4)]
    paused = await asyncio.gather(*await first_done(slow, 3 if owner else 2), return_exceptions=True)
    assert {type(each) for each in paused} == {HostPaused}
    assert HOST in str(paused[0])
    if owner:
        for other in ("shop", ""):
            assert isinstance(
                await patient.fetch(FetchRequest(web.url("/fast"), owner=other), tmp_path / "fast"), Fetched
            )
    else:
        with pytest.raises(HostPaused):
            await fetch(4, "/fast", "shop")
    go_on.set()
    fetched = [each for each in await asyncio.gather(*slow, return_exceptions=True) if isinstance(each, Fetched)]
    assert len(fetched) == (1 if owner else 2)
    again = FetchRequest(web.url("/slow"), owner=owner)
    assert isinstance(await patient.fetch(again, tmp_path / "again"), Fetched)


async def first_done(tasks: Sequence[asyncio.Future[object]], count: int) -> list[asyncio.Future[object]]:
    """Wait until `count` tasks are done, and return them."""
    async with asyncio.timeout(60):
        while sum(task.done() for task in tasks) < count:
            await asyncio.sleep(0.02)
    return [task for task in tasks if task.done()]
