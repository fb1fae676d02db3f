"""Snapshots."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS

_SNAPSHOT_TESTS: Final = f"{COMMON_TESTS}/snapshot"

MUTATIONS: Final = (
    Mutation(
        "snapshot-half-written",
        "Snapshots",
        "A partially written file is read as a snapshot.",
        f"{COMMON}/snapshot/snapshot.py",
        before="if stamp != self._judged and is_settled:",
        after="if stamp != self._judged:",
        tests=(f"{_SNAPSHOT_TESTS}/test_swaps.py::test_a_half_written_file_is_not_taken_though_it_is_right",),
    ),
    Mutation(
        "snapshot-of-two-versions",
        "Snapshots",
        "A reader gets the rules of one version with the name of another.",
        f"{COMMON}/snapshot/snapshot.py",
        before="        before, self._current, self._digest = self._current, loaded, digest\n",
        after="        before = self._current\n"
        "        self._current = Loaded(before.value if before else loaded.value, loaded.version)\n"
        "        await asyncio.sleep(0.001)\n"
        "        self._current, self._digest = loaded, digest\n",
        tests=(f"{_SNAPSHOT_TESTS}/test_swaps.py::test_readers_see_one_whole_version",),
    ),
)
