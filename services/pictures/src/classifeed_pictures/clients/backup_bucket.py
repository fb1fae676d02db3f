"""The backups in the bucket: the files of each under its name, all manifests under one prefix for short listings."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import Final

from minio import Minio
from minio.error import InvalidResponseError, S3Error

from classifeed_common.blobs.client import MISSING, S3Client
from classifeed_pictures.domain.backups import BackupFault, Manifest, is_name

_FILES: Final = "backups/files/"
_MANIFESTS: Final = "backups/manifests/"
_END: Final = ".json"
_CHUNK_BYTES: Final = 1024 * 1024


class BackupBucket:
    """Backups by name.

    Args:
        client: S3 client; its owner closes it.
        bucket: bucket with the backups.
    """

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    async def put_file(self, backup: str, name: str, path: Path) -> None:
        """Store a file of a backup.

        Raises:
            Unavailable: the object store does not respond.
        """
        key = f"{_FILES}{backup}/{name}"
        # Parts are uploaded one by one, see classifeed_common.blobs.objects.
        await self._client.run(lambda client: client.fput_object(self._bucket, key, str(path), num_parallel_uploads=1))

    async def put_manifest(self, manifest: Manifest) -> None:
        """Store the manifest of a backup, which completes it.

        Raises:
            Unavailable: the object store does not respond.
        """
        data = manifest.to_json()
        await self._client.run(
            lambda client: client.put_object(self._bucket, _manifest_key(manifest.name), io.BytesIO(data), len(data))
        )

    async def list_complete(self) -> list[str]:
        """Return the names of complete backups, oldest first.

        Raises:
            Unavailable: the object store does not respond.
        """
        keys = await self._client.run(lambda client: self._list(client, _MANIFESTS))
        names = (key.removeprefix(_MANIFESTS).removesuffix(_END) for key in keys if key.endswith(_END))
        return sorted(name for name in names if is_name(name))

    async def list_begun(self) -> list[str]:
        """Return the names of backups that have files, oldest first.

        Raises:
            Unavailable: the object store does not respond.
        """
        keys = await self._client.run(lambda client: self._list(client, _FILES, is_deep=False))
        names = {key.removeprefix(_FILES).partition("/")[0] for key in keys}
        return sorted(name for name in names if is_name(name))

    async def read_manifest(self, backup: str) -> Manifest | None:
        """Return the manifest of a backup; None if there is no complete backup of this name.

        Raises:
            BackupFault: it cannot be read.
            Unavailable: the object store does not respond.
        """
        data = io.BytesIO()
        key = _manifest_key(backup)
        if not await self._client.run(lambda client: self._read(client, key, data)):
            return None
        return Manifest.from_json(backup, data.getvalue())

    async def fetch(self, backup: str, name: str, target: Path) -> None:
        """Write a file of a backup to `target` without checking it.

        Raises:
            BackupFault: the file does not exist.
            Unavailable: the object store does not respond.
        """
        with target.open("wb") as file:
            if await self._client.run(lambda client: self._read(client, f"{_FILES}{backup}/{name}", file)):
                return
        raise BackupFault(f"{name} is missing in the bucket {self._bucket}")

    async def remove(self, backup: str) -> None:
        """Remove a backup, its manifest first, so that a part of it is never a complete backup. Idempotent.

        Raises:
            Unavailable: the object store does not respond.
        """
        await self._client.run(partial(self._remove, key=_manifest_key(backup)))
        for key in await self._client.run(lambda client: self._list(client, f"{_FILES}{backup}/")):
            await self._client.run(partial(self._remove, key=key))

    def _remove(self, client: Minio, key: str) -> None:
        client.remove_object(self._bucket, key)

    def _list(self, client: Minio, prefix: str, *, is_deep: bool = True) -> list[str]:
        found = client.list_objects(self._bucket, prefix=prefix, recursive=is_deep)
        return [str(each.object_name) for each in found]

    def _read(self, client: Minio, key: str, target: io.BufferedIOBase) -> bool:
        """Write an object to `target`; return whether it exists."""
        try:
            response = client.get_object(self._bucket, key)
        except (S3Error, InvalidResponseError):
            # Some servers do not report a missing key in their response to a GET.
            if not self._is_there(client, key):
                return False
            response = client.get_object(self._bucket, key)  # it may have been put meanwhile
        try:
            for chunk in response.stream(_CHUNK_BYTES):
                target.write(chunk)
        finally:
            response.close()
            response.release_conn()
        return True

    def _is_there(self, client: Minio, key: str) -> bool:
        try:
            client.stat_object(self._bucket, key)
        except S3Error as error:
            if error.code in MISSING:
                return False
            raise
        return True


def _manifest_key(backup: str) -> str:
    return f"{_MANIFESTS}{backup}{_END}"
