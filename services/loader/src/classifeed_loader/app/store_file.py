"""Stores the file of a fetch in the object store, unless it is there unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from classifeed.feeds.v1.feed_pb2 import FeedCredentials
from classifeed_common.auth.encryption import DecryptionError
from classifeed_common.errors import Unavailable
from classifeed_common.fetch import Fetched, FetchFailed, FetchRequest, HostPaused, NotModified
from classifeed_common.spool import run_folder
from classifeed_jobs import JobContext
from classifeed_loader.app.fetch_dependencies import FetchDependencies
from classifeed_loader.domain.completions import describe_pause
from classifeed_loader.domain.faults import OURS, LoadFailed
from classifeed_loader.domain.fetches import FetchKey, FetchState, StoredFile, shown_elsewhere
from classifeed_loader.domain.sources import Source
from classifeed_loader.metrics import FETCHED_BYTES
from classifeed_loader.store import fetching

# A fetch that would wait longer for a site fails, so that its seller learns the reason.
_LONGEST_PAUSE_S: Final = 600.0


async def store_file(
    ctx: JobContext, dependencies: FetchDependencies, key: FetchKey, source: Source, fetch: FetchState
) -> StoredFile:
    """Download the file of the fetch into the object store and record it; return the recorded file if there is one.

    The reference is written before the file, so that no clean-up deletes it in between. The site gets no request while
    the object store is unavailable, since the file could not be stored.

    Raises:
        FetchFailed: the site does not deliver the file.
        HostPaused: the site accepts the request only later, but soon.
        LoadFailed: the credentials cannot be decrypted, or the site forbids requests for a long time.
        Unavailable: a store of this installation is unavailable or full; the job is retried.
        ClaimLost: another worker has claimed the job.
    """
    if fetch.sha256:
        return StoredFile(fetch.sha256, fetch.size_bytes, fetch.is_as_before)
    request = _request(dependencies, key, source, is_conditional=not fetch.forced and bool(source.last_hash))
    await dependencies.blobs.check()
    with run_folder(dependencies.spool_dir) as folder:
        path = folder / "feed"
        fetched = await _download(dependencies, request, path)
        file = await _keep(ctx, dependencies, key, source, fetched, path)
    async with ctx.guarded_transaction() as tx:
        await fetching.note_file(
            tx,
            key,
            file,
            http_status=fetched.http_status,
            final_url=shown_elsewhere(fetched.final_url, source.url),
            etag=fetched.etag,
            last_modified=fetched.last_modified,
        )
    return file


async def _keep(
    ctx: JobContext,
    dependencies: FetchDependencies,
    key: FetchKey,
    source: Source,
    fetched: Fetched | NotModified,
    path: Path,
) -> StoredFile:
    file = (
        StoredFile(source.last_hash, source.last_bytes, is_as_before=True)
        if isinstance(fetched, NotModified)
        else StoredFile(fetched.sha256, fetched.size_bytes, is_as_before=False)
    )
    async with ctx.guarded_transaction() as tx:
        await dependencies.refs.add(tx, file.sha256, key.blob_ref)
    if not file.is_as_before:
        await dependencies.blobs.put_file(path, file.sha256)
        FETCHED_BYTES.inc(file.size_bytes)
    return file


async def _download(dependencies: FetchDependencies, request: FetchRequest, path: Path) -> Fetched | NotModified:
    try:
        return await dependencies.downloader.fetch(request, path)
    except FetchFailed as failed:
        if failed.code in OURS:
            raise Unavailable(failed.code, failed.message, retry_after_s=failed.retry_after_s) from failed
        raise
    except HostPaused as paused:
        if paused.by_retry_after and paused.wait_s > _LONGEST_PAUSE_S:
            raise LoadFailed("HOST_PAUSED", describe_pause(paused), retry_after_s=paused.wait_s) from paused
        raise


def _request(dependencies: FetchDependencies, key: FetchKey, source: Source, *, is_conditional: bool) -> FetchRequest:
    credentials = _open_credentials(dependencies, key, source.sealed_credentials)
    auth = credentials.basic_auth
    return FetchRequest(
        source.url,
        headers=dict(credentials.headers),
        basic_auth=(auth.username, auth.password) if credentials.HasField("basic_auth") else None,
        etag=source.etag if is_conditional else "",
        last_modified=source.last_modified if is_conditional else "",
        owner=key.seller_id,
    )


def _open_credentials(dependencies: FetchDependencies, key: FetchKey, encrypted: bytes) -> FeedCredentials:
    if not encrypted:
        return FeedCredentials()
    if dependencies.cipher is None:
        raise LoadFailed("CREDENTIALS_UNREADABLE", "The loader has no keys to decrypt credentials")
    try:
        return FeedCredentials.FromString(dependencies.cipher.decrypt(encrypted, f"{key.seller_id}/{key.namespace}"))
    except DecryptionError as error:
        raise LoadFailed("CREDENTIALS_UNREADABLE", "The credentials of the feed cannot be decrypted") from error
