"""BlobStore: stores bytes under their SHA-256, and verifies the hash of what it reads."""

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

    If the server stops responding, a call fails within 20 s, except the last request of a large put (`COMPLETE_S`).

    Each file has one owner, whose name is the prefix of its key. Only the owner writes and deletes the file (ADR 0037).
    Services that share the bucket (`OWNERS`) read each other's files; a service with a separate bucket reads only its
    own. The store relies on keys and bytes only: content types, user metadata and conditional puts differ between
    servers.
    """

    def __init__(self, *, endpoint: str, access_key: str, secret_key: str, bucket: str, owner: str = "") -> None:
        """Prepare a store; nothing is sent before `open`.

        Args:
            endpoint: http(s)://host:port.
            access_key: S3 access key.
            secret_key: S3 secret key.
            bucket: name of the bucket; `open` creates it if it is missing.
            owner: service whose files are written and deleted; empty: files without an owner.
        """
        self._bucket = bucket
        self._objects = Objects(bucket, owner)
        self._transfers, self._short = (
            S3Client(endpoint, access_key, secret_key, threads=threads, retries=retries)
            for threads, retries in ((_TRANSFER_THREADS, 2), (_SHORT_THREADS, 0))
        )

    async def open(self) -> None:
        """Create the bucket unless it exists; idempotent.

        Raises:
            Unavailable: the object store does not respond.
        """
        await self._transfers.run(self._objects.make_bucket)

    async def check(self) -> None:
        """Return once the object store responds.

        Raises:
            Unavailable: it does not respond.
        """
        await self._short.run(lambda client: client.bucket_exists(self._bucket))

    async def close(self) -> None:
        """Close the connections. Transfers under way complete, or time out if the server is silent."""
        self._transfers.close()
        self._short.close()

    async def put_file(self, path: Path, sha256: str) -> None:
        """Store a file under its hash unless it exists; idempotent. The caller guarantees the hash.

        Raises:
            Unavailable: the object store does not respond.
            OSError: the file cannot be read.
        """
        await self._transfers.run(lambda client: self._objects.put(client, path, sha256))

    async def put_bytes(self, content: bytes, sha256: str, *, is_new: bool = False) -> None:
        """Store bytes under their hash unless they exist; idempotent. The caller guarantees the hash.

        Args:
            content: the bytes.
            sha256: hash of the bytes.
            is_new: whether the file had no reference until now (`BlobRefs.add_many`); the check for it is skipped.

        Raises:
            Unavailable: the object store does not respond.
        """
        await self._transfers.run(lambda client: self._objects.put_bytes(client, content, sha256, is_new=is_new))

    async def keep(self, sha256: str) -> None:
        """Copy a file from another owner to this one, inside the object store; idempotent.

        Call it after the reference is committed. The former owner may delete its copy afterwards.

        Raises:
            BlobMissing: no owner has the file.
            Unavailable: the object store does not respond.
        """
        await self._transfers.run(lambda client: self._objects.keep(client, sha256))

    async def list_own(self) -> list[str]:
        """Return the hashes of all files of this owner.

        Raises:
            Unavailable: the object store does not respond.
        """
        return await self._transfers.run(self._objects.list_own)

    async def fetch(self, sha256: str, target: Path) -> int:
        """Write the file with this hash to `target`, verify it, and return its size in bytes.

        This owner's file is preferred to others'. A cancelled call stops reading and removes `target` soon.

        Raises:
            BlobMissing: no owner has the file.
            BlobCorrupt: its bytes have another hash; `target` is removed.
            Unavailable: the object store does not respond.
        """
        return await self._transfers.read(lambda client, check: self._objects.read_to(client, sha256, target, check))

    async def get_bytes(self, sha256: str) -> bytes:
        """Return the bytes with this hash, verified. Only for files that fit into memory; the caller knows the size.

        Raises:
            BlobMissing: no owner has the file.
            BlobCorrupt: the bytes have another hash.
            Unavailable: the object store does not respond.
        """
        content = bytearray()
        await self._transfers.read(lambda client, check: self._objects.read(client, sha256, content.extend, check))
        return bytes(content)

    async def get_piece(self, sha256: str, piece: BlobPiece) -> bytes:
        """Return a piece of the file with this hash, verified by the piece's hash; the rest is not read.

        Raises:
            BlobMissing: no owner has the file.
            BlobCorrupt: the piece is incomplete, or has another hash.
            Unavailable: the object store does not respond.
        """
        return await self._transfers.run(lambda client: self._objects.read_piece(client, sha256, piece))

    async def verify(self, sha256: str) -> int:
        """Read this owner's file from end to end without keeping it, and return its size in bytes.

        Raises:
            BlobMissing: this owner has no such file.
            BlobCorrupt: its bytes have another hash.
            Unavailable: the object store does not respond.
        """
        return await self._transfers.read(
            lambda client, check: self._objects.read(client, sha256, len, check, is_own=True)
        )

    async def delete(self, sha256: str) -> None:
        """Remove a file of this owner; idempotent. Takes at most 13 s once fewer than two other removals are under way.

        Raises:
            Unavailable: the object store does not respond.
        """
        # It runs under a row lock that the database drops after 30 s, so it must complete earlier.
        await self._short.run(lambda client: self._objects.remove(client, sha256))
