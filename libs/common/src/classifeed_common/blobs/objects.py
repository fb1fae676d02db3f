"""Objects: keys and blocking transfers of one bucket."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from minio import Minio
from minio.commonconfig import CopySource
from minio.error import InvalidResponseError, S3Error
from urllib3.response import BaseHTTPResponse

from classifeed_common.blobs.client import MISSING
from classifeed_common.blobs.piece import BlobCorrupt, BlobMissing, BlobPiece

OWNERS: Final = ("api", "loader", "processor")
"""Services that share a bucket and read each other's files. Objects at the top of the bucket are older than owners;
they are only read. A service with a separate bucket is not listed: it reads only its own files."""
_CHUNK_BYTES: Final = 1024 * 1024
_SHA256: Final = re.compile("[0-9a-f]{64}")


class Objects:
    """The blocking operations that `BlobStore` runs in its threads."""

    def __init__(self, bucket: str, owner: str) -> None:
        self._bucket = bucket
        self._owner = owner
        is_shared = not owner or owner in OWNERS
        self._others = tuple(each for each in (*OWNERS, "") if each != owner) if is_shared else ()

    def own(self, sha256: str) -> str:
        """Return the key of a file of this owner."""
        return _key(self._owner, sha256)

    def put(self, client: Minio, path: Path, sha256: str) -> None:
        """Store a file unless it exists."""
        if not self._has(client, sha256, path.stat().st_size):
            # Parts are sent in sequence. rclone delays its response to an out-of-order part until all others are there,
            # which would look like a silent server.
            client.fput_object(self._bucket, self.own(sha256), str(path), num_parallel_uploads=1)

    def put_bytes(self, client: Minio, content: bytes, sha256: str, *, is_new: bool = False) -> None:
        """Store bytes unless they exist; with `is_new`, skip the check."""
        if is_new or not self._has(client, sha256, len(content)):
            client.put_object(self._bucket, self.own(sha256), io.BytesIO(content), len(content), num_parallel_uploads=1)

    def keep(self, client: Minio, sha256: str) -> None:
        """Copy a file of another owner to this owner, unless it exists."""
        own = self.own(sha256)
        key = self._find(client, sha256, self._others)
        if key != own:
            client.copy_object(self._bucket, own, CopySource(self._bucket, key))

    def list_own(self, client: Minio) -> list[str]:
        """Return the hashes of this owner's files."""
        prefix = self.own("")
        found = client.list_objects(self._bucket, prefix=prefix)
        names = (str(each.object_name).removeprefix(prefix) for each in found if not each.is_dir)
        return [name for name in names if _SHA256.fullmatch(name)]

    def read(
        self,
        client: Minio,
        sha256: str,
        sink: Callable[[bytes], object],
        check: Callable[[], None],
        *,
        is_own: bool = False,
    ) -> int:
        """Pass a file to `sink` in chunks, verify its hash, and return its size in bytes.

        Args:
            client: client of the calling thread.
            sha256: hash of the file.
            sink: receives each chunk, before the hash is verified.
            check: called before each chunk; an exception from it ends the call.
            is_own: whether only this owner's file may be read.
        """
        key, response = self._open(client, sha256, others=() if is_own else self._others)
        digest, size = hashlib.sha256(), 0
        with _closing(response):
            for chunk in response.stream(_CHUNK_BYTES):
                check()
                digest.update(chunk)
                sink(chunk)
                size += len(chunk)
        if digest.hexdigest() != sha256:
            raise BlobCorrupt(f"the object {key} holds other bytes ({size} of them, hash {digest.hexdigest()})")
        return size

    def read_to(self, client: Minio, sha256: str, target: Path, check: Callable[[], None]) -> int:
        """Write a file to `target`, which is removed unless the hash is right; `check` as in `read`."""
        try:
            with target.open("wb") as file:
                return self.read(client, sha256, file.write, check)
        except BaseException:
            target.unlink(missing_ok=True)
            raise

    def read_piece(self, client: Minio, sha256: str, piece: BlobPiece) -> bytes:
        """Return a piece of a file, verified by the piece's hash."""
        if not piece.size_bytes:
            return b""
        key, response = self._open(client, sha256, others=self._others, offset=piece.offset, length=piece.size_bytes)
        with _closing(response):
            content = response.read()
        piece.check(content, f"the object {key}")
        return content

    def remove(self, client: Minio, sha256: str) -> None:
        """Remove a file of this owner."""
        client.remove_object(self._bucket, self.own(sha256))

    def make_bucket(self, client: Minio) -> None:
        """Create the bucket unless it exists."""
        if client.bucket_exists(self._bucket):
            return
        try:
            client.make_bucket(self._bucket)
        except (S3Error, InvalidResponseError):
            # Another process may have created it first. Servers report this in different ways; rclone sends a page of
            # text.
            if not client.bucket_exists(self._bucket):
                raise

    def _has(self, client: Minio, sha256: str, size_bytes: int) -> bool:
        # Compare the size too: a server that crashed during a put may show a partial object.
        return self._size_of(client, self.own(sha256)) == size_bytes

    def _find(self, client: Minio, sha256: str, others: Sequence[str]) -> str:
        """Return the key of a file, this owner's first."""
        for owner in (self._owner, *others):
            key = _key(owner, sha256)
            if self._size_of(client, key) is not None:
                return key
        keys = ", ".join(_key(owner, sha256) for owner in (self._owner, *others))
        raise BlobMissing(f"the object store has no object {sha256}: there is none of {keys} in {self._bucket}")

    def _open(
        self, client: Minio, sha256: str, *, others: Sequence[str], offset: int = 0, length: int = 0
    ) -> tuple[str, BaseHTTPResponse]:
        """Return key and content of a file: this owner's, or another owner's if this one has none."""
        own = self.own(sha256)
        try:
            return own, client.get_object(self._bucket, own, offset=offset, length=length)
        except (S3Error, InvalidResponseError):
            # Some servers do not name a missing key, or an offset past the end, in their reply to a GET: ask for the
            # size.
            key = self._find(client, sha256, others)
            size = self._size_of(client, key)
            if size is not None and offset and offset >= size:
                raise BlobCorrupt(f"the object {key} is cut: it ends at {size}, before {offset}") from None
        # This may be this owner's key, too: the file may have been put meanwhile.
        return key, client.get_object(self._bucket, key, offset=offset, length=length)

    def _size_of(self, client: Minio, key: str) -> int | None:
        try:
            return client.stat_object(self._bucket, key).size
        except S3Error as error:
            if error.code in MISSING:
                return None
            raise


@contextmanager
def _closing(response: BaseHTTPResponse) -> Iterator[None]:
    try:
        yield
    finally:
        response.close()
        response.release_conn()


def _key(owner: str, sha256: str) -> str:
    return f"{owner}/{sha256}" if owner else sha256
