"""Watch the loads: set their metrics, and report those that cannot continue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.db import Tx
from classifeed_common.kafka import dlq
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS
from classifeed_processor.app.issues.watch_packing import list_failed_packings
from classifeed_processor.metrics import HELD, OLDEST_HELD, OPEN
from classifeed_processor.store import reading

# Three requests are sent within 3.5 minutes; if only a message was lost, the second one is enough.
_UNHEARD_REQUESTS: Final = 3


async def watch_loads(tx: Tx) -> Mapping[str, str]:
    """Set the metrics of loads, and return messages about loads that cannot continue; for `Watch`."""
    await measure_loads(tx)
    return {**await list_missing_replies(tx), **await list_failed_packings(tx)}


async def measure_loads(tx: Tx) -> None:
    """Set the metrics of open and held loads from the tables."""
    count, seconds = await reading.count_held(tx)
    HELD.set(count)
    OLDEST_HELD.set(seconds)
    OPEN.set(await reading.count_open(tx))


async def list_missing_replies(tx: Tx) -> Mapping[str, str]:
    """Return a message about loads that wait for a reply although they requested it again; empty: there are none."""
    count, seconds = await reading.count_unheard(tx, _UNHEARD_REQUESTS)
    if not count:
        return {}
    words = (
        f"{count} of the loads have been waiting for a reply of offers for up to {seconds:.0f} s, although they "
        f"requested it again: check whether offers reads {FEEDS_OFFER_REQUESTS}, and sends {FEEDS_OFFER_RESULTS}; "
        f"replies that this version cannot read are in {dlq(FEEDS_OFFER_RESULTS)}"
    )
    return {"replies": words}
