"""Objects: keys and transfers of one bucket, each call blocking."""

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
"""Services that keep files in one bucket and read each other's. What was stored before files had owners lies at the top
of the bucket, and is read only. A service with a bucket of its own is not among them: it reads what it has put."""
_CHUNK_BYTES: Final = 1024 * 1024
_SHA256: Final = re.compile("[0-9a-f]{64}")


class Objects:
    """What `BlobStore` does in its threads."""

    def __init__(self, bucket: str, owner: str) -> None:
        self._bucket = bucket
        self._owner = owner
        is_shared = not owner or owner in OWNERS
        self._others = tuple(each for each in (*OWNERS, "") if each != owner) if is_shared else ()

    def own(self, sha256: str) -> str:
        """Return the own key of a file."""
        return _key(self._owner, sha256)

    def put(self, client: Minio, path: Path, sha256: str) -> None:
        """Store a file unless it is there."""
        if not self._has(client, sha256, path.stat().st_size):
            # One part after the other: rclone responds to a part that came out of order when all the others are there,
            # which is as good as silence.
            client.fput_object(self._bucket, self.own(sha256), str(path), num_parallel_uploads=1)

    def put_bytes(self, client: Minio, content: bytes, sha256: str, *, is_new: bool = False) -> None:
        """Store bytes unless they are there; without a look for them where they are new."""
        if is_new or not self._has(client, sha256, len(content)):
            client.put_object(self._bucket, self.own(sha256), io.BytesIO(content), len(content), num_parallel_uploads=1)

    def keep(self, client: Minio, sha256: str) -> None:
        """Have an own copy of a file."""
        own = self.own(sha256)
        key = self._find(client, sha256, self._others)
        if key != own:
            client.copy_object(self._bucket, own, CopySource(self._bucket, key))

    def list_own(self, client: Minio) -> list[str]:
        """Return the hashes of own files."""
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
        """Hand a file to `sink` chunk by chunk, and return its size once the hash was verified.

        Args:
            client: of this thread's call.
            sha256: the file.
            sink: takes each chunk before anything is verified.
            check: is called before each chunk; what it raises ends the call.
            is_own: whether the own one is meant, and nobody else's.
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
        """Write a file to `target`, which is there only if the hash was verified; `check` as of `read`."""
        try:
            with target.open("wb") as file:
                return self.read(client, sha256, file.write, check)
        except BaseException:
            target.unlink(missing_ok=True)
            raise

    def read_piece(self, client: Minio, sha256: str, piece: BlobPiece) -> bytes:
        """Return a piece of a file, checked by its own hash."""
        if not piece.size_bytes:
            return b""
        key, response = self._open(client, sha256, others=self._others, offset=piece.offset, length=piece.size_bytes)
        with _closing(response):
            content = response.read()
        piece.check(content, f"the object {key}")
        return content

    def remove(self, client: Minio, sha256: str) -> None:
        """Remove an own file."""
        client.remove_object(self._bucket, self.own(sha256))

    def make_bucket(self, client: Minio) -> None:
        """Make the bucket unless it is there."""
        if client.bucket_exists(self._bucket):
            return
        try:
            client.make_bucket(self._bucket)
        except (S3Error, InvalidResponseError):
            # Another process may have been faster; servers say so in different ways, rclone with a page of text.
            if not client.bucket_exists(self._bucket):
                raise

    def _has(self, client: Minio, sha256: str, size_bytes: int) -> bool:
        # The size as well: a server that died in a put may show a part of it.
        return self._size_of(client, self.own(sha256)) == size_bytes

    def _find(self, client: Minio, sha256: str, others: Sequence[str]) -> str:
        """Return the key of a file, the own one where there is one."""
        for owner in (self._owner, *others):
            key = _key(owner, sha256)
            if self._size_of(client, key) is not None:
                return key
        keys = ", ".join(_key(owner, sha256) for owner in (self._owner, *others))
        raise BlobMissing(f"the object store has no object {sha256}: there is none of {keys} in {self._bucket}")

    def _open(
        self, client: Minio, sha256: str, *, others: Sequence[str], offset: int = 0, length: int = 0
    ) -> tuple[str, BaseHTTPResponse]:
        """Return key and content of a file, the own one at once, others' once it is known that there is none."""
        own = self.own(sha256)
        try:
            return own, client.get_object(self._bucket, own, offset=offset, length=length)
        except (S3Error, InvalidResponseError):
            # Not every server names a missing key, or an offset past the end, in its reply to a GET: ask for the size.
            key = self._find(client, sha256, others)
            size = self._size_of(client, key)
            if size is not None and offset and offset >= size:
                raise BlobCorrupt(f"the object {key} is cut: it ends at {size}, before {offset}") from None
        # The own one as well: it may have been put meanwhile.
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
