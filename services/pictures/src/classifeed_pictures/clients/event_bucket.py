"""The event files in the bucket: all objects under one prefix."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from minio import Minio
from minio.datatypes import Object
from minio.error import S3Error

from classifeed_common.blobs.client import MISSING, S3Client
from classifeed_pictures.domain.event_files import EventFile, EventFileReplaced

PREFIX: Final = "events/"
_PAGE: Final = 1000
_CHUNK_BYTES: Final = 1024 * 1024


class EventBucket:
    """Event files by name and ETag.

    Args:
        client: S3 client for these files only; `close` closes it.
        bucket: bucket with the files.
        prefix: prefix of their names.
    """

    def __init__(self, client: S3Client, bucket: str, prefix: str = PREFIX) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = prefix

    async def list_pages(self) -> AsyncIterator[list[EventFile]]:
        """Yield all files by name, a thousand at a time.

        Raises:
            Unavailable: the object store does not respond.
        """
        found: Iterator[Object] = await self._client.run(
            lambda client: client.list_objects(self._bucket, prefix=self._prefix, recursive=True)
        )
        while page := await self._client.run(lambda _: list(islice(found, _PAGE))):
            yield [_file_of(each) for each in page if not each.is_dir and not str(each.object_name).endswith("/")]

    async def fetch(self, name: str, etag: str, target: Path) -> None:
        """Write the bytes of a file to `target`.

        Raises:
            EventFileReplaced: the object has other bytes, or does not exist.
            Unavailable: the object store does not respond.
        """
        await self._client.run(lambda client: self._fetch(client, name, etag, target))

    async def remove(self, name: str, etag: str) -> None:
        """Remove a file, unless the object has other bytes; idempotent.

        Raises:
            Unavailable: the object store does not respond.
        """
        await self._client.run(lambda client: self._remove(client, name, etag))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _fetch(self, client: Minio, name: str, etag: str, target: Path) -> None:
        # Checked first: some servers do not report a missing key in their response to a GET.
        if self._etag_of(client, name) != etag:
            raise EventFileReplaced(f"{name} was removed or replaced")
        response = client.get_object(self._bucket, name)
        try:
            if _bare(response.headers.get("ETag")) != etag:
                raise EventFileReplaced(f"{name} was replaced")
            with target.open("wb") as file:
                for chunk in response.stream(_CHUNK_BYTES):
                    file.write(chunk)
        finally:
            response.close()
            response.release_conn()

    def _remove(self, client: Minio, name: str, etag: str) -> None:
        if self._etag_of(client, name) == etag:
            client.remove_object(self._bucket, name)

    def _etag_of(self, client: Minio, name: str) -> str | None:
        try:
            return _bare(client.stat_object(self._bucket, name).etag)
        except S3Error as error:
            if error.code in MISSING:
                return None
            raise


def _file_of(found: Object) -> EventFile:
    assert found.last_modified is not None, "a listing has the time of each object"
    return EventFile(str(found.object_name), _bare(found.etag), found.size or 0, found.last_modified)


def _bare(etag: str | None) -> str:
    return (etag or "").strip('"')
