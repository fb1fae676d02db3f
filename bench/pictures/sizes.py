"""Sizes of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Sizes:
    """Sizes of one run.

    Attributes:
        rounds: Number of measurements of each side, in turn.
        events: URLs in a round of states.
        pictures: Downloads of each side in a round.
        hosts: Addresses of this machine that serve pictures. They limit the rate: a new host gets 2 requests a second.
        gets: Responses of each side in a round.
        states: URLs whose states are looked up.
        lookups: Lookups in a round.
        peers: Whether to compare with other programs, which the first run installs.
    """

    rounds: int
    events: int
    pictures: int
    hosts: int
    gets: int
    states: int
    lookups: int
    peers: bool


DEFAULT: Final = Sizes(3, 20_000, 600, 500, 15_000, 20_000, 2_000, peers=True)
SMOKE: Final = Sizes(1, 500, 20, 20, 200, 500, 100, peers=False)
FULL: Final = Sizes(5, 100_000, 4_000, 500, 60_000, 200_000, 10_000, peers=True)
