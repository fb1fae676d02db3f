"""Running a fetch to its end: the file stored, handed over to be loaded, and what became of it noted."""

from __future__ import annotations

from contextlib import ExitStack

from classifeed_common.fetch import FetchFailed
from classifeed_jobs import Fail, JobContext
from classifeed_loader.app.end_fetch import FetchWaits, end_fetch, report_end
from classifeed_loader.app.fetch_parts import FetchParts
from classifeed_loader.app.store_file import store_file
from classifeed_loader.domain.endings import Ending, dropped, failed, handed_over
from classifeed_loader.domain.faults import LoadFailed
from classifeed_loader.domain.fetches import FetchKey, FetchState, StoredFile
from classifeed_loader.domain.sources import Source
from classifeed_loader.store import fetching


async def fetch_feed(ctx: JobContext, parts: FetchParts, key: FetchKey) -> None:
    """Return when the fetch has ended.

    May be killed and started again at any point: a file that is stored is not downloaded again, and the task is made
    once, as the processor knows the fetch by its number. Calls of others stand between transactions, never in one.

    Raises:
        Fail: there is no such fetch.
        Snooze: other feeds of the same host are being downloaded.
        ClaimLost: another run of the job has begun.
        Exception: a part of ours does not answer; try again.
    """
    with ExitStack() as turn:
        begun = await _begin(ctx, parts, key, turn)
        if begun is None:
            return
        source, fetch = begun
        try:
            file = await store_file(ctx, parts, key, source, fetch)
            turn.close()
            ending = await _hand_over(ctx, parts, key, fetch, file)
        except (FetchFailed, LoadFailed) as fault:
            ending = failed(fault)
    await _end(ctx, parts, key, ending)
    await _trim(ctx, parts, key)


async def _begin(
    ctx: JobContext, parts: FetchParts, key: FetchKey, turn: ExitStack
) -> tuple[Source, FetchState] | None:
    """Note that the fetch is under way, with its turn at the host; None: it has ended, or ended here."""
    async with ctx.guarded_transaction() as tx:
        source = await fetching.lock_source(tx, key)
        fetch = await fetching.read_fetch(tx, key)
        if source is None or fetch is None:
            raise Fail(f"there is no {key.name}")
        if fetch.is_ended:
            return None
        if fetch.feed_version == source.feed_version:
            if not fetch.sha256:
                turn.enter_context(parts.hosts.turn(source.url, key.seller_id))
            await fetching.begin(tx, key)
            return source, fetch
    await _end(ctx, parts, key, dropped(source.status))
    return None


async def _hand_over(ctx: JobContext, parts: FetchParts, key: FetchKey, fetch: FetchState, file: StoredFile) -> Ending:
    """Have the file loaded, unless the feed has changed while it came."""
    async with ctx.guarded_transaction() as tx:
        source = await fetching.lock_source(tx, key)
    assert source is not None
    if source.feed_version != fetch.feed_version:
        return dropped(source.status)
    task = await parts.tasks.create_task(key, source, file, forced=fetch.forced)
    return handed_over(key, task, is_as_before=file.is_as_before)


async def _end(ctx: JobContext, parts: FetchParts, key: FetchKey, ending: Ending) -> None:
    async with ctx.guarded_transaction() as tx:
        await end_fetch(tx, key, ending, FetchWaits(parts.min_interval_s, parts.backoff_base_s))
    report_end(key, ending)


async def _trim(ctx: JobContext, parts: FetchParts, key: FetchKey) -> None:
    """Remove the oldest fetches of the source, each with its reference to the file; what is left goes next time."""
    async with ctx.db.transaction() as tx:
        old = await fetching.list_old(tx, key, kept=parts.history_fetches)
    for one in old:
        async with ctx.guarded_transaction() as tx:
            await parts.refs.drop(tx, one.blob_ref)
            await fetching.delete(tx, one)
