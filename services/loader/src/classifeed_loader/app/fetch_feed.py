"""Runs a fetch to its completion: stores the file, has it loaded, and stores the outcome."""

from __future__ import annotations

from typing import Final

from classifeed_common.fetch import FetchFailed, HostPaused
from classifeed_common.fetch.addresses.urls import host_of
from classifeed_jobs import Exponential, Fail, JobContext, Snooze
from classifeed_loader.app.complete_fetch import FetchWaits, complete_fetch, report_completion
from classifeed_loader.app.fetch_dependencies import FetchDependencies
from classifeed_loader.app.store_file import store_file
from classifeed_loader.domain.completions import Completion, dropped, failed, handed_over, waits_for
from classifeed_loader.domain.faults import LoadFailed
from classifeed_loader.domain.fetches import FetchKey, FetchState, StoredFile
from classifeed_loader.domain.sources import Source
from classifeed_loader.store import fetching

# A fetch that its host does not allow yet waits in the queue, where it holds no slot: longer after each run.
_WAITS: Final = Exponential(first_s=1, cap_s=30)
# After a redirect to a paused host, the hosts before it got a useless request.
_REDIRECTED_WAIT_S: Final = 60.0


async def fetch_feed(ctx: JobContext, dependencies: FetchDependencies, key: FetchKey) -> None:
    """Return when the fetch is completed.

    The job may be killed and run again at any point: a stored file is not downloaded again, and the task is created
    once because the processor knows the fetch by its id. No call to another service is made within a transaction.

    Raises:
        Fail: the fetch does not exist.
        Snooze: the host accepts the request only later.
        ClaimLost: another run of the job has begun.
        Exception: a service or store is unavailable; the job is retried.
    """
    begun = await _begin(ctx, dependencies, key)
    if begun is None:
        return
    source, fetch = begun
    try:
        file = await store_file(ctx, dependencies, key, source, fetch)
        completion = await _hand_over(ctx, dependencies, key, fetch, file)
    except (FetchFailed, LoadFailed) as fault:
        completion = failed(fault)
    except HostPaused as paused:
        async with ctx.guarded_transaction() as tx:
            await fetching.note_wait(tx, key, waits_for(paused))
        raise Snooze(wait_s(paused, source.url, ctx.claim_no)) from paused
    await _end(ctx, dependencies, key, completion)
    await _trim(ctx, dependencies, key)


def wait_s(paused: HostPaused, url: str, run: int) -> float:
    """Return the seconds until the next run of a fetch whose host was paused, by the number of runs so far."""
    at_least_s = paused.wait_s if paused.host == host_of(url) else max(paused.wait_s, _REDIRECTED_WAIT_S)
    return at_least_s + _WAITS.delay_s(run)


async def _begin(ctx: JobContext, dependencies: FetchDependencies, key: FetchKey) -> tuple[Source, FetchState] | None:
    """Mark the fetch as running; return None if it is completed, before or here."""
    async with ctx.guarded_transaction() as tx:
        source = await fetching.lock_source(tx, key)
        fetch = await fetching.find_fetch(tx, key)
        if source is None or fetch is None:
            raise Fail(f"there is no {key.name}")
        if fetch.is_ended:
            return None
        if fetch.feed_version == source.feed_version:
            await fetching.begin(tx, key)
            return source, fetch
    await _end(ctx, dependencies, key, dropped(source.status))
    return None


async def _hand_over(
    ctx: JobContext, dependencies: FetchDependencies, key: FetchKey, fetch: FetchState, file: StoredFile
) -> Completion:
    """Have the file loaded, unless the feed has changed during the download."""
    async with ctx.guarded_transaction() as tx:
        source = await fetching.lock_source(tx, key)
    assert source is not None
    if source.feed_version != fetch.feed_version:
        return dropped(source.status)
    task = await dependencies.tasks.create_task(key, source, file, forced=fetch.forced)
    return handed_over(key, task, is_as_before=file.is_as_before)


async def _end(ctx: JobContext, dependencies: FetchDependencies, key: FetchKey, completion: Completion) -> None:
    async with ctx.guarded_transaction() as tx:
        await complete_fetch(tx, key, completion, FetchWaits(dependencies.min_interval_s, dependencies.backoff_base_s))
    report_completion(key, completion)


async def _trim(ctx: JobContext, dependencies: FetchDependencies, key: FetchKey) -> None:
    """Remove the oldest fetches of the source with their references, up to a limit; the next fetch removes more."""
    async with ctx.db.transaction() as tx:
        old = await fetching.list_old(tx, key, kept=dependencies.history_fetches)
    for one in old:
        async with ctx.guarded_transaction() as tx:
            await dependencies.refs.drop(tx, one.blob_ref)
            await fetching.delete(tx, one)
