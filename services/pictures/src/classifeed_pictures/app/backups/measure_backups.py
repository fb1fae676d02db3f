"""Measure how old the newest backup is, and how long files of pictures must be kept for the oldest one."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from classifeed_common.blobs.refs import GRACE_S
from classifeed_common.errors import Unavailable
from classifeed_pictures.clients.backup_bucket import BackupBucket
from classifeed_pictures.domain.backups import time_of
from classifeed_pictures.metrics import BACKUP_AGE

_MEASURE_S: Final = 30.0


class BackupMeter:
    """Sets the age of the newest complete backup; for a Watch. Until there is one, that of this process.

    Args:
        bucket: with the backups.
    """

    def __init__(self, bucket: BackupBucket) -> None:
        self._bucket = bucket
        self._began_at = datetime.now(UTC)
        self._measured_s = -_MEASURE_S
        self._newest_at = self._began_at

    async def __call__(self) -> dict[str, str]:
        """List the backups now and then, and set the gauge."""
        if time.monotonic() - self._measured_s >= _MEASURE_S:
            # While the object store is away, the newest one that is known ages.
            with suppress(Unavailable):
                names = await self._bucket.list_complete()
                self._newest_at = time_of(names[-1]) if names else self._began_at
            self._measured_s = time.monotonic()
        BACKUP_AGE.set(max((datetime.now(UTC) - self._newest_at).total_seconds(), 0.0))
        return {}


async def needed_grace_s(bucket: BackupBucket) -> float:
    """Return how long a file is kept after its last reference went: the oldest backup may have a reference to it.

    Raises:
        Unavailable: the object store does not respond.
    """
    names = await bucket.list_complete()
    if not names:
        return GRACE_S
    return max(GRACE_S, (datetime.now(UTC) - time_of(names[0])).total_seconds() + GRACE_S)
