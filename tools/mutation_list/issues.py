"""Issues of loads."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import PROCESSOR, PROCESSOR_TESTS

_ALL: Final = f"{PROCESSOR_TESTS}/issues/test_all_issues.py"
_EXPORT: Final = f"{PROCESSOR_TESTS}/issues/test_export.py"
_LISTED: Final = f"{_ALL}::test_every_issue_is_listed_while_the_load_runs_after_it_and_once_it_is_packed"
_KILLED: Final = f"{_ALL}::test_a_kill_at_each_step_of_the_packing_loses_nothing_and_leaves_no_file"
_RETRIED: Final = f"{_ALL}::test_a_packing_that_fails_is_retried_and_named_until_it_succeeds"

MUTATIONS: Final = (
    Mutation(
        "further-issues-lost",
        "Issues",
        "After the first hundred issues of a code, further issues are counted but not stored.",
        f"{PROCESSOR}/domain/statistics.py",
        before="            kept.further.append(error)\n",
        after="",
        tests=(_LISTED,),
    ),
    Mutation(
        "parameters-lost-in-rows",
        "Issues",
        "The sentence of a stored issue lacks its parameters.",
        f"{PROCESSOR}/store/reading.py",
        before="    error.MergeFromString(parameters)\n",
        after="",
        tests=(f"{_EXPORT}::test_an_issue_that_has_a_row_keeps_its_parameters",),
    ),
    Mutation(
        "chunks-deleted-before-the-file",
        "Issues",
        "If the packing is killed, the issues are neither in chunks nor in the file.",
        f"{PROCESSOR}/app/issues/pack_issues.py",
        before="                await _REFS.add(tx, file.sha256, key.issues_ref)\n            await blobs",
        after="                await _REFS.add(tx, file.sha256, key.issues_ref)\n"
        "                await issues.delete_chunks(tx, key, [each.chunk_id for each in chunks])\n"
        "            await blobs",
        tests=(_KILLED,),
    ),
    Mutation(
        "file-put-before-its-reference",
        "Issues",
        "A killed packing leaves a file that the sweep does not know.",
        f"{PROCESSOR}/app/issues/pack_issues.py",
        before="                await _REFS.add(tx, file.sha256, key.issues_ref)\n            await blobs",
        after="                pass\n            await blobs",
        tests=(_KILLED,),
    ),
    Mutation(
        "reference-of-a-killed-packing-stays",
        "Issues",
        "The reference to the file of a killed packing stays as long as its load.",
        f"{PROCESSOR}/app/issues/pack_issues.py",
        before="            await _REFS.drop(tx, key.issues_ref)\n",
        after="",
        tests=(_KILLED,),
    ),
    Mutation(
        "file-before-lost",
        "Issues",
        "Late issues replace all earlier issues.",
        f"{PROCESSOR}/app/issues/pack_issues.py",
        before="    if before is not None:\n",
        after="    if False:\n",
        tests=(f"{_ALL}::test_late_issues_go_into_a_new_file_and_the_old_one_goes_after_the_grace_time",),
    ),
    Mutation(
        "chunk-packed-under-the-reader",
        "Issues",
        "A list lacks the issues of a chunk that was packed into a file during the reading.",
        f"{PROCESSOR}/app/issues/read_issues.py",
        before="            raise _ChunkPacked\n",
        after="            return ()\n",
        tests=(f"{_ALL}::test_a_list_under_way_goes_on_while_its_chunks_become_a_file",),
    ),
    Mutation(
        "equal-issues-listed-once",
        "Issues",
        "A list has fewer issues than the load counts if a page ends between equal issues.",
        f"{PROCESSOR}/app/issues/read_issues.py",
        before="            to_skip = place.seen\n",
        after="            to_skip = 10 * place.seen\n",
        tests=(f"{_ALL}::test_issues_with_one_key_are_listed_as_often_as_they_were_counted",),
    ),
    Mutation(
        "every-block-read",
        "Issues",
        "Every block of the file is read for the issues of one offer.",
        f"{PROCESSOR}/domain/issue_blocks.py",
        before="_hash_of(self.external_id) not in block.ids",
        after="not block.ids",
        tests=(f"{_ALL}::test_a_block_that_has_nothing_wanted_is_not_read",),
    ),
    Mutation(
        "damaged-chunk-stops-the-packing",
        "Issues",
        "One unreadable chunk blocks the packing of all later chunks of its load.",
        f"{PROCESSOR}/app/issues/pack_issues.py",
        before="        await issues.put_aside(tx, key, list(damaged))\n",
        after="        return False\n",
        tests=(f"{_ALL}::test_a_damaged_chunk_is_left_out_and_stops_nothing",),
    ),
    Mutation(
        "file-outlives-its-load",
        "Issues",
        "The file of issues stays after the removal of its load.",
        f"{PROCESSOR}/app/clean_up.py",
        before="for ref in (key.blob_ref, key.issues_ref)",
        after="for ref in (key.blob_ref,)",
        tests=(f"{_ALL}::test_chunks_and_file_go_with_the_task",),
    ),
    Mutation(
        "unbounded-exports",
        "Issues",
        "One seller can open an unlimited number of exports.",
        f"{PROCESSOR}/app/issues/export_issues.py",
        before=" or self._of_seller[seller_id] >= MAX_EXPORTS_OF_SELLER",
        after="",
        tests=(f"{_EXPORT}::test_a_seller_with_as_many_exports_as_he_may_have_is_refused",),
    ),
    Mutation(
        "idle-reader-kept",
        "Issues",
        "A reader that does not read keeps its stream and its file for ever.",
        "libs/common/src/classifeed_common/rpc/idle_readers.py",
        before="loop.call_later(silence_s, call.cancel)",
        after="loop.call_later(3600, call.cancel)",
        tests=(
            "libs/common/tests/unit/rpc/test_idle_readers.py::"
            "test_the_call_of_a_reader_that_takes_nothing_is_cancelled",
        ),
    ),
    Mutation(
        "packing-given-up",
        "Issues",
        "After five faults the issues of a load are not packed until an operator retries the job.",
        f"{PROCESSOR}/jobs/pack_records.py",
        before="resumes=True)",
        after="resumes=True, max_unknown_faults=5)",
        tests=(_RETRIED,),
    ),
    Mutation(
        "failing-packing-not-named",
        "Issues",
        "Issues of completed loads fill the database, and `status` reports no problem.",
        f"{PROCESSOR}/app/issues/watch_packing.py",
        before="    if not count:",
        after="    if count < 2:",
        tests=(_RETRIED,),
    ),
)
