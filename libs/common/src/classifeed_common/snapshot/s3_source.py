"""Snapshots in S3."""

from __future__ import annotations

from minio import Minio
from minio.error import S3Error

from classifeed_common.blobs.client import MISSING, S3Client
from classifeed_common.snapshot.faults import SourceMissing
from classifeed_common.snapshot.sources import MAX_BYTES, within_limit


class S3Source:
    """An object in S3.

    Args:
        client: client for this source only.
        bucket: bucket of the object.
        key: key of the object.
    """

    def __init__(self, client: S3Client, bucket: str, key: str) -> None:
        self._client = client
        self._bucket = bucket
        self._key = key

    @property
    def name(self) -> str:
        """URL of the object."""
        return f"s3://{self._bucket}/{self._key}"

    async def stamp(self) -> str:
        """See `Source`."""
        return await self._client.run(self._stamp)

    async def read(self) -> bytes:
        """See `Source`."""
        return await self._client.run(self._read)

    def close(self) -> None:
        """See `Source`."""
        self._client.close()

    def _stamp(self, client: Minio) -> str:
        try:
            found = client.stat_object(self._bucket, self._key)
        except S3Error as error:
            raise self._explain(error) from error
        return f"{found.etag}:{found.size}:{found.last_modified}"

    def _read(self, client: Minio) -> bytes:
        try:
            response = client.get_object(self._bucket, self._key)
        except S3Error as error:
            raise self._explain(error) from error
        try:
            return within_limit(response.read(MAX_BYTES + 1))
        finally:
            response.close()
            response.release_conn()

    def _explain(self, error: S3Error) -> Exception:
        return SourceMissing(f"there is no object {self.name}") if error.code in MISSING else error
