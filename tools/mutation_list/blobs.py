"""Blob references."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS

MUTATIONS: Final = (
    Mutation(
        "file-deleted-under-its-user",
        "Blob references",
        "A file is deleted although somebody refers to it.",
        f"{COMMON}/blobs/queries.sql",
        before="WHERE ref_count = 0 AND touched_at",
        after="WHERE touched_at",
        tests=(f"{COMMON_TESTS}/blobs/test_blobs.py::test_sweep_takes_what_nobody_needs_and_not_before_its_time",),
    ),
    Mutation(
        "deletion-without-lock",
        "Blob references",
        "A reference is added while its file is being deleted, and nobody puts the file again.",
        f"{COMMON}/blobs/queries.sql",
        before=" LIMIT 1\n   FOR UPDATE SKIP LOCKED",
        after=" LIMIT 1",
        tests=(f"{COMMON_TESTS}/blobs/test_blobs.py::test_cancelled_sweep_keeps_its_lock_until_the_file_is_gone",),
    ),
    Mutation(
        "reference-counted-twice",
        "Blob references",
        "A reference that is added again is counted again: its file is never deleted.",
        f"{COMMON}/blobs/refs.py",
        before="        if cursor.rowcount:\n",
        after="        if cursor.rowcount >= 0:\n",
        tests=(f"{COMMON_TESTS}/blobs/test_blobs.py::test_references_are_counted_once_each",),
    ),
)
