"""Random histories of a few pictures with kills at any step: held pictures can be read, and nothing is left over.

15 by default, 2,000 with CLASSIFEED_CAMPAIGN=long.
"""

from __future__ import annotations

import os

import pytest

from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_devkit.testing.databases import MigratedDatabase

from .byte_histories import World, prepare_tables

_HISTORIES = 2_000 if IS_LONG else 15
_SEED = int(os.environ.get("CLASSIFEED_SEED", "20261124"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if IS_LONG else 900)]


async def test_what_is_held_can_be_read_and_nothing_is_left_over(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_pictures", max_size=8)
    deaths = 0
    for number in range(_HISTORIES):
        await prepare_tables(database)
        world = World(database, _SEED + number)
        try:
            await world.live()
            await world.check_end()
        except AssertionError as error:
            error.add_note(f"in the history of seed {world.seed}")
            raise
        deaths += world.deaths
    assert deaths > _HISTORIES, "processes died in the middle of things"
