"""BlobStore: bytes under their SHA-256. What is read back is what was put, or it is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from classifeed_common.blobs.client import S3Client
from classifeed_common.blobs.objects import Objects
from classifeed_common.blobs.piece import BlobPiece

_TRANSFER_THREADS: Final = 8
_SHORT_THREADS: Final = 2


class BlobStore:
    """An S3 bucket. Safe to share between tasks; each call runs in a thread, at most eight transfers at a time.

    A server that falls silent fails a call within 20 s, save the last request of a large put (`COMPLETE_S`).

    Each file has one owner, whose name its key begins with, and who alone writes and deletes it (ADR 0037). Those who
    share the bucket (`OWNERS`) read each other's files; a service with a bucket of its own reads its own ones. Nothing
    but key and bytes is relied on: content types, user metadata and conditional puts differ between servers.
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
        self._bucket = bucket
        self._objects = Objects(bucket, owner)
        self._transfers, self._short = (
            S3Client(endpoint, access_key, secret_key, threads=threads, retries=retries)
            for threads, retries in ((_TRANSFER_THREADS, 2), (_SHORT_THREADS, 0))
        )

    async def open(self) -> None:
        """Make the bucket unless it is there; idempotent.

        Raises:
            Unavailable: the object store does not respond.
        """
        await self._transfers.run(self._objects.make_bucket)

    async def check(self) -> None:
        """Return when the object store responds.

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
            Unavailable: the object store does not respond.
            OSError: the file cannot be read.
        """
        await self._transfers.run(lambda client: self._objects.put(client, path, sha256))

    async def put_bytes(self, content: bytes, sha256: str, *, is_new: bool = False) -> None:
        """Store bytes under their hash, unless they are there; idempotent. The caller vouches for the hash.

        Args:
            content: the bytes.
            sha256: their hash.
            is_new: nobody needed them until now (`BlobRefs.add_many`), so they are not looked for before.

        Raises:
            Unavailable: the object store does not respond.
        """
        await self._transfers.run(lambda client: self._objects.put_bytes(client, content, sha256, is_new=is_new))

    async def keep(self, sha256: str) -> None:
        """Have a file of one's own with this hash, copied inside of the object store from whoever has it; idempotent.

        Call it after the reference is committed. What its former owner does with its file then is nothing to us.

        Raises:
            BlobMissing: nobody has it.
            Unavailable: the object store does not respond.
        """
        await self._transfers.run(lambda client: self._objects.keep(client, sha256))

    async def list_own(self) -> list[str]:
        """Return the hashes of all own files.

        Raises:
            Unavailable: the object store does not respond.
        """
        return await self._transfers.run(self._objects.list_own)

    async def fetch(self, sha256: str, target: Path) -> int:
        """Write the file with this hash to `target` and return its size in bytes, once the hash was verified.

        The own one is read before those of others. A cancelled call removes `target` soon, and reads no further.

        Raises:
            BlobMissing: the store has no such file, whoever's.
            BlobCorrupt: its bytes have another hash; `target` is removed.
            Unavailable: the object store does not respond.
        """
        return await self._transfers.read(lambda client, check: self._objects.read_to(client, sha256, target, check))

    async def get_bytes(self, sha256: str) -> bytes:
        """Return the bytes with this hash, verified. For what fits into memory; the caller knows its size.

        Raises:
            BlobMissing: the store has no such bytes, whoever's.
            BlobCorrupt: they have another hash.
            Unavailable: the object store does not respond.
        """
        content = bytearray()
        await self._transfers.read(lambda client, check: self._objects.read(client, sha256, content.extend, check))
        return bytes(content)

    async def get_piece(self, sha256: str, piece: BlobPiece) -> bytes:
        """Return a piece of the file with this hash, verified by the piece's own hash; the rest is not read.

        Raises:
            BlobMissing: the store has no such file, whoever's.
            BlobCorrupt: the piece is cut, or has another hash.
            Unavailable: the object store does not respond.
        """
        return await self._transfers.run(lambda client: self._objects.read_piece(client, sha256, piece))

    async def verify(self, sha256: str) -> int:
        """Read the own file with this hash from end to end, keep nothing of it, and return its size in bytes.

        Raises:
            BlobMissing: the store has no such file of ours.
            BlobCorrupt: its bytes have another hash.
            Unavailable: the object store does not respond.
        """
        return await self._transfers.read(
            lambda client, check: self._objects.read(client, sha256, len, check, is_own=True)
        )

    async def delete(self, sha256: str) -> None:
        """Remove an own file; idempotent. Takes 13 s at the most, once fewer than two others are under way.

        Raises:
            Unavailable: the object store does not respond.
        """
        # It runs under a row lock, which the database ends after 30 s: it is over before that.
        await self._short.run(lambda client: self._objects.remove(client, sha256))
