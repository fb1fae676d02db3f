"""Periods and limits of pictures that no operator turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Tuning:
    """Periods and limits; tests of whole services pass other ones.

    Attributes:
        event_files_s: seconds between two listings of event files in the bucket.
        rekey_s: seconds between two checks whether the rules of canonical URLs have changed.
        rekey_settle_s: seconds for which new rules must be in force before all keys count as made by them. Longer than
            the file takes to reach all processes and events take to be processed.
        held_share: share of unused URLs that needs no confirmation.
        held_least: number of unused URLs that never needs a confirmation.
        relay_lease_s: lease of the relay, in seconds.
        poll_records: events in a transaction; more lock their pictures for longer.
        session_s: seconds for which a partition waits after its process has died.
        download_total_s: longest duration of a download, in seconds.
    """

    event_files_s: int = 60
    rekey_s: int = 60
    rekey_settle_s: int = 900
    held_share: float = 0.2
    held_least: int = 100
    relay_lease_s: float = 10
    poll_records: int = 500
    session_s: float = 10
    download_total_s: float = 60


TUNING: Final = Tuning()
