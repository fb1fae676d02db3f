"""Blob references."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS

_MANY_REFS: Final = f"{COMMON_TESTS}/blobs/test_many_refs.py"

MUTATIONS: Final = (
    Mutation(
        "read-for-nobody",
        "Blob references",
        "A large file is read to its end after its caller has gone, and the copy is never removed.",
        f"{COMMON}/blobs/objects.py",
        before="                check()\n",
        after="",
        tests=(
            f"{COMMON_TESTS}/blobs/test_cancelled_reads.py::test_cancelled_fetch_reads_no_further_and_leaves_no_file",
        ),
    ),
    Mutation(
        "file-deleted-under-its-user",
        "Blob references",
        "A file is deleted although a reference to it exists.",
        f"{COMMON}/blobs/queries.sql",
        before="WHERE ref_count = 0 AND touched_at",
        after="WHERE touched_at",
        tests=(f"{COMMON_TESTS}/blobs/test_blobs.py::test_sweep_takes_what_nobody_needs_and_not_before_its_time",),
    ),
    Mutation(
        "deletion-without-lock",
        "Blob references",
        "A reference is added during the deletion of its file, and the file is not stored again.",
        f"{COMMON}/blobs/queries.sql",
        before=" LIMIT 1\n   FOR UPDATE SKIP LOCKED",
        after=" LIMIT 1",
        tests=(f"{COMMON_TESTS}/blobs/test_blobs.py::test_cancelled_sweep_keeps_its_lock_until_the_file_is_gone",),
    ),
    Mutation(
        "reference-counted-twice",
        "Blob references",
        "A reference that is added twice counts twice, so its file is never deleted.",
        f"{COMMON}/blobs/queries.sql",
        before="        ON CONFLICT DO NOTHING\n    RETURNING",
        after="        ON CONFLICT (ref, sha256) DO UPDATE SET ref = excluded.ref\n    RETURNING",
        tests=(
            f"{COMMON_TESTS}/blobs/test_blobs.py::test_references_are_counted_once_each",
            f"{_MANY_REFS}::test_repeats_count_once",
        ),
    ),
    Mutation(
        "references-locked-in-the-order-given",
        "Blob references",
        "Two transactions that need the same files in opposite order deadlock.",
        f"{COMMON}/blobs/queries.sql",
        before="  FROM (SELECT DISTINCT unnest(%(sha256s)s::text[]) AS sha256 ORDER BY sha256) AS wanted\n",
        after="  FROM unnest(%(sha256s)s::text[]) AS wanted(sha256)\n",
        tests=(f"{_MANY_REFS}::test_transactions_from_opposite_ends_do_not_deadlock",),
    ),
    Mutation(
        "references-removed-without-their-lock",
        "Blob references",
        "A removal includes references that another transaction adds meanwhile, and locks their files out of order.",
        f"{COMMON}/blobs/refs.py",
        before="if pair[0] in locked]",
        after="if locked or pair]",
        tests=(f"{_MANY_REFS}::test_a_file_made_known_while_a_removal_waits_is_left_to_its_maker",),
    ),
    Mutation(
        "piece-without-its-hash",
        "Blob references",
        "A piece of a file with changed bytes is accepted as the stored content.",
        f"{COMMON}/blobs/piece.py",
        before="        if digest != self.sha256:\n",
        after="        if not digest:\n",
        tests=(f"{COMMON_TESTS}/blobs/test_blob_bytes.py::test_a_piece_that_is_cut_flipped_or_displaced_is_found",),
    ),
)
