"""Having the file of a fetch in the object store: downloaded, or known to be there as before."""

from __future__ import annotations

from pathlib import Path

from classifeed.feeds.v1.feed_pb2 import FeedCredentials
from classifeed_common.auth.sealing import Unsealable
from classifeed_common.errors import Unavailable
from classifeed_common.fetch import Fetched, FetchFailed, FetchRequest, NotModified
from classifeed_common.spool import run_folder
from classifeed_jobs import JobContext
from classifeed_loader.app.fetch_parts import FetchParts
from classifeed_loader.domain.faults import OURS, LoadFailed
from classifeed_loader.domain.fetches import FetchKey, FetchState, StoredFile, shown_elsewhere
from classifeed_loader.domain.sources import Source
from classifeed_loader.metrics import FETCHED_BYTES
from classifeed_loader.store import fetching


async def store_file(
    ctx: JobContext, parts: FetchParts, key: FetchKey, source: Source, fetch: FetchState
) -> StoredFile:
    """Download the file of the fetch into the object store and note it; the same again once it is noted.

    The reference is written before the file, so that no clean-up takes it away in between. Nothing is asked of the site
    while the object store is away: the file would have nowhere to go.

    Raises:
        FetchFailed: the site does not hand the file out.
        LoadFailed: the credentials cannot be read.
        Unavailable: a part of ours does not answer, or has no room; try again.
        ClaimLost: the job is somebody else's now.
    """
    if fetch.sha256:
        return StoredFile(fetch.sha256, fetch.size_bytes, fetch.is_as_before)
    request = _request(parts, key, source, is_conditional=not fetch.forced and bool(source.last_hash))
    await parts.blobs.check()
    with run_folder(parts.spool_dir) as folder:
        path = folder / "feed"
        answer = await _download(parts, request, path)
        file = await _keep(ctx, parts, key, source, answer, path)
    async with ctx.guarded_transaction() as tx:
        await fetching.note_file(
            tx,
            key,
            file,
            http_status=answer.http_status,
            final_url=shown_elsewhere(answer.final_url, source.url),
            etag=answer.etag,
            last_modified=answer.last_modified,
        )
    return file


async def _keep(
    ctx: JobContext, parts: FetchParts, key: FetchKey, source: Source, answer: Fetched | NotModified, path: Path
) -> StoredFile:
    file = (
        StoredFile(source.last_hash, source.last_bytes, is_as_before=True)
        if isinstance(answer, NotModified)
        else StoredFile(answer.sha256, answer.size_bytes, is_as_before=False)
    )
    async with ctx.guarded_transaction() as tx:
        await parts.refs.add(tx, file.sha256, key.blob_ref)
    if not file.is_as_before:
        await parts.blobs.put_file(path, file.sha256)
        FETCHED_BYTES.inc(file.size_bytes)
    return file


async def _download(parts: FetchParts, request: FetchRequest, path: Path) -> Fetched | NotModified:
    try:
        return await parts.downloader.fetch(request, path)
    except FetchFailed as failed:
        if failed.code in OURS:
            raise Unavailable(failed.code, failed.message, retry_after_s=failed.retry_after_s) from failed
        raise


def _request(parts: FetchParts, key: FetchKey, source: Source, *, is_conditional: bool) -> FetchRequest:
    credentials = _open_credentials(parts, key, source.sealed_credentials)
    auth = credentials.basic_auth
    return FetchRequest(
        source.url,
        headers=dict(credentials.headers),
        basic_auth=(auth.username, auth.password) if credentials.HasField("basic_auth") else None,
        etag=source.etag if is_conditional else "",
        last_modified=source.last_modified if is_conditional else "",
        owner=key.seller_id,
    )


def _open_credentials(parts: FetchParts, key: FetchKey, sealed: bytes) -> FeedCredentials:
    if not sealed:
        return FeedCredentials()
    if parts.sealer is None:
        raise LoadFailed("CREDENTIALS_UNREADABLE", "The loader has no keys to read credentials with")
    try:
        return FeedCredentials.FromString(parts.sealer.unseal(sealed, f"{key.seller_id}/{key.namespace}"))
    except Unsealable as error:
        raise LoadFailed("CREDENTIALS_UNREADABLE", "The credentials of the feed cannot be read any more") from error
