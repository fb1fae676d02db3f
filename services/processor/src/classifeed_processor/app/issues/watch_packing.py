"""Report ended loads whose issues cannot be packed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.db import Tx
from classifeed_processor.app.issues.schedule_packing import QUEUE
from classifeed_processor.store import reading

_ATTEMPTS: Final = 5
_ERROR_CHARACTERS: Final = 300


async def list_failed_packings(tx: Tx) -> Mapping[str, str]:
    """Return a message about packings that have failed five times or more, with one of their errors; for `Watch`.

    The result is empty if there are none.
    """
    count, error = await reading.count_failing_jobs(tx, QUEUE, _ATTEMPTS)
    if not count:
        return {}
    words = (
        f"The issues of {count} ended loads could not be packed in {_ATTEMPTS} attempts or more: "
        f"{error[:_ERROR_CHARACTERS]}. They are complete, and take space in the database. Packing is retried every "
        "5 minutes. Correct the cause: the log of the processor has it."
    )
    return {"packing of issues": words}
