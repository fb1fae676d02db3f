"""BlobStore: bytes under their SHA-256. What is read back is what was put, or it is an error."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

from minio import Minio
from minio.commonconfig import CopySource
from minio.error import InvalidResponseError, S3Error

from classifeed_common.blobs.client import MISSING, S3Client

OWNERS: Final = ("api", "loader", "processor")
"""Services that keep files. What was stored before files had owners lies at the top of the bucket, and is read only."""
_CHUNK_BYTES: Final = 1024 * 1024
_TRANSFER_THREADS: Final = 8
_SHORT_THREADS: Final = 2
_SHA256: Final = re.compile("[0-9a-f]{64}")


class BlobMissing(Exception):
    """The store has nothing under this hash. Lasting: only a new put heals it."""


class BlobCorrupt(Exception):
    """The bytes under this hash have another hash. Lasting; nothing of them must be used."""


class BlobStore:
    """An S3 bucket. Safe to share between tasks; each call runs in a thread, at most eight transfers at a time.

    A server that falls silent fails a call within 20 s, save the last request of a large put (`COMPLETE_S`).

    Each file has one owner, whose name its key begins with, and who alone writes and deletes it (ADR 0037); all may
    read it. Nothing but key and bytes is relied on: content types, user metadata and conditional puts differ between
    servers.
    """

    def __init__(self, *, endpoint: str, access_key: str, secret_key: str, bucket: str, owner: str = "") -> None:
        """Prepare a store; nothing is sent before `open`.

        Args:
            endpoint: http(s)://host:port.
            access_key: who we are.
            secret_key: proof of it.
            bucket: made by `open` if it is missing.
            owner: the service whose files are written and deleted; empty: those without an owner.
        """
        self._owner = owner
        self._bucket = bucket
        self._transfers, self._short = (
            S3Client(endpoint, access_key, secret_key, threads=threads, retries=retries)
            for threads, retries in ((_TRANSFER_THREADS, 2), (_SHORT_THREADS, 0))
        )

    async def open(self) -> None:
        """Make the bucket unless it is there; idempotent.

        Raises:
            Unavailable: the object store does not answer.
        """
        await self._transfers.run(self._make_bucket)

    async def check(self) -> None:
        """Return when the object store answers.

        Raises:
            Unavailable: it does not.
        """
        await self._short.run(lambda client: client.bucket_exists(self._bucket))

    async def close(self) -> None:
        """Close the connections. Transfers under way end by themselves, within the limits of a silent server."""
        self._transfers.close()
        self._short.close()

    async def put_file(self, path: Path, sha256: str) -> None:
        """Store a file under its hash, unless it is there; idempotent. The caller vouches for the hash.

        Raises:
            Unavailable: the object store does not answer.
            OSError: the file cannot be read.
        """
        await self._transfers.run(lambda client: self._put(client, path, sha256))

    async def keep(self, sha256: str) -> None:
        """Have a file of one's own with this hash, copied inside of the object store from whoever has it; idempotent.

        Call it after the reference is committed. What its former owner does with its file then is nothing to us.

        Raises:
            BlobMissing: nobody has it.
            Unavailable: the object store does not answer.
        """
        await self._transfers.run(lambda client: self._keep(client, sha256))

    async def list_own(self) -> list[str]:
        """Return the hashes of all own files.

        Raises:
            Unavailable: the object store does not answer.
        """
        return await self._transfers.run(self._list_own)

    async def fetch(self, sha256: str, target: Path) -> int:
        """Write the file with this hash to `target` and return its size in bytes, once the hash was verified.

        The own one is read before those of others.

        Raises:
            BlobMissing: the store has no such file, whoever's.
            BlobCorrupt: its bytes have another hash; `target` is removed.
            Unavailable: the object store does not answer.
        """
        return await self._transfers.run(lambda client: self._fetch(client, sha256, target))

    async def delete(self, sha256: str) -> None:
        """Remove an own file; idempotent. Takes 13 s at the most, once fewer than two others are under way.

        Raises:
            Unavailable: the object store does not answer.
        """
        # It runs under a row lock, which the database ends after 30 s: it is over before that.
        await self._short.run(lambda client: client.remove_object(self._bucket, self._own(sha256)))

    def _make_bucket(self, client: Minio) -> None:
        if client.bucket_exists(self._bucket):
            return
        try:
            client.make_bucket(self._bucket)
        except (S3Error, InvalidResponseError):
            # Another process may have been faster; servers say so in different ways, rclone with a page of text.
            if not client.bucket_exists(self._bucket):
                raise

    def _put(self, client: Minio, path: Path, sha256: str) -> None:
        # The size as well: a server that died in a put may show a part of it.
        if self._size_of(client, self._own(sha256)) != path.stat().st_size:
            # One part after the other: rclone answers a part that came before its turn when all the others are there,
            # which is as good as silence.
            client.fput_object(self._bucket, self._own(sha256), str(path), num_parallel_uploads=1)

    def _own(self, sha256: str) -> str:
        return f"{self._owner}/{sha256}" if self._owner else sha256

    def _find(self, client: Minio, sha256: str) -> str:
        """Return the key of a file, whoever's; the own one where there is one."""
        own = self._own(sha256)
        for key in (own, *(f"{owner}/{sha256}" for owner in OWNERS if owner != self._owner), sha256):
            # Asked first: not every server names a missing key in its answer to a GET.
            if self._size_of(client, key) is not None:
                return key
        raise BlobMissing(f"the object store has no object {sha256}, whoever's")

    def _keep(self, client: Minio, sha256: str) -> None:
        own = self._own(sha256)
        key = self._find(client, sha256)
        if key != own:
            client.copy_object(self._bucket, own, CopySource(self._bucket, key))

    def _list_own(self, client: Minio) -> list[str]:
        found = client.list_objects(self._bucket, prefix=self._own(""))
        names = (str(each.object_name).removeprefix(self._own("")) for each in found if not each.is_dir)
        return [name for name in names if _SHA256.fullmatch(name)]

    def _size_of(self, client: Minio, key: str) -> int | None:
        try:
            return client.stat_object(self._bucket, key).size
        except S3Error as error:
            if error.code in MISSING:
                return None
            raise

    def _fetch(self, client: Minio, sha256: str, target: Path) -> int:
        key = self._find(client, sha256)
        digest, size = hashlib.sha256(), 0
        response = client.get_object(self._bucket, key)
        try:
            with target.open("wb") as file:
                for chunk in response.stream(_CHUNK_BYTES):
                    digest.update(chunk)
                    file.write(chunk)
                    size += len(chunk)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            response.close()
            response.release_conn()
        if digest.hexdigest() != sha256:
            target.unlink(missing_ok=True)
            raise BlobCorrupt(f"the object {key} holds other bytes ({size} of them, hash {digest.hexdigest()})")
        return size
