"""Measures the age of the newest backup, and the grace for files that the oldest backup may need."""

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


class MeasureBackups:
    """Sets the age of the newest complete backup, or of this process if there is none; for a Watch.

    Args:
        bucket: bucket with the backups.
    """

    def __init__(self, bucket: BackupBucket) -> None:
        self._bucket = bucket
        self._began_at = datetime.now(UTC)
        self._measured_s = -_MEASURE_S
        self._newest_at = self._began_at

    async def __call__(self) -> dict[str, str]:
        """List the backups every 30 s, and set the gauge."""
        if time.monotonic() - self._measured_s >= _MEASURE_S:
            # While the object store is unavailable, the age of the last known backup grows.
            with suppress(Unavailable):
                names = await self._bucket.list_complete()
                self._newest_at = time_of(names[-1]) if names else self._began_at
            self._measured_s = time.monotonic()
        BACKUP_AGE.set(max((datetime.now(UTC) - self._newest_at).total_seconds(), 0.0))
        return {}


async def needed_grace_s(bucket: BackupBucket) -> float:
    """Return the seconds for which a file is kept after its last reference was dropped; the oldest backup may refer to
    it.

    Raises:
        Unavailable: the object store does not respond.
    """
    names = await bucket.list_complete()
    if not names:
        return GRACE_S
    return max(GRACE_S, (datetime.now(UTC) - time_of(names[0])).total_seconds() + GRACE_S)
