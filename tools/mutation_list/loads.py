"""Loads."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import API, API_TESTS, LOADER, LOADER_TESTS, PROCESSOR, PROCESSOR_TESTS

MUTATIONS: Final = (
    Mutation(
        "namespace-not-locked",
        "Loads",
        "An upload and the removal of its feed get their positions concurrently, in either order.",
        f"{API}/store/task_line.sql",
        before="SELECT pg_advisory_xact_lock(hashtextextended('namespace/'",
        after="SELECT (hashtextextended('namespace/'",
        tests=(f"{API_TESTS}/peers/test_task_line.py::test_upload_waits_for_a_removal_under_way_and_stands_behind_it",),
    ),
    Mutation(
        "upload-refused-next-to-a-patch",
        "Loads",
        "An upload of the whole catalogue is refused because of a link that changes only prices and stocks.",
        f"{API}/app/uploads/store_upload.py",
        before="feed.has_link and feed.settings.mode == LOAD_MODE_REPLACE",
        after="feed.has_link",
        tests=(
            f"{API_TESTS}/uploads/test_upload_beside_feed.py::test_upload_that_no_load_of_the_link_undoes_is_taken",
        ),
    ),
    Mutation(
        "patch-upload-refused",
        "Loads",
        "An upload of prices and stocks is refused because the namespace has a link.",
        f"{API}/app/uploads/store_upload.py",
        before="    if mode != LOAD_MODE_REPLACE:\n        return\n",
        after="",
        tests=(
            f"{API_TESTS}/uploads/test_upload_beside_feed.py::test_upload_that_no_load_of_the_link_undoes_is_taken",
        ),
    ),
    Mutation(
        "older-source-taken",
        "Loads",
        "A late version of a feed replaces a newer one.",
        f"{LOADER}/store/sources.sql",
        before="WHERE excluded.feed_version > t.feed_version",
        after="WHERE true",
        tests=(f"{LOADER_TESTS}/rpc/test_feed_source_service.py::test_an_older_version_changes_nothing",),
    ),
    Mutation(
        "task-id-given-twice",
        "Loads",
        "After a restore a task id is used twice, and the offers service takes the new file for the old one.",
        f"{PROCESSOR}/store/tasks.sql",
        before="greatest(last_task_id + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
        after="last_task_id + 1",
        tests=(f"{PROCESSOR_TESTS}/tasks/test_making.py::test_no_id_and_no_run_is_given_twice_across_a_restore",),
    ),
    Mutation(
        "run-number-given-twice",
        "Loads",
        "A task that restarts after a restore uses a run number that the offers service already knows.",
        f"{PROCESSOR}/store/tasks.sql",
        before="greatest(run + 1, (extract(epoch FROM clock_timestamp()) - 1735689600)::integer)",
        after="run + 1",
        tests=(f"{PROCESSOR_TESTS}/tasks/test_making.py::test_no_id_and_no_run_is_given_twice_across_a_restore",),
    ),
    Mutation(
        "end-before-acknowledgement",
        "Loads",
        "The end of a run is sent before Kafka acknowledges all its batches.",
        f"{PROCESSOR}/app/runs/send_run.py",
        before="await parts.sender.send(chunk.messages[-len(fresh) :])",
        after="asyncio.ensure_future(parts.sender.send(chunk.messages[-len(fresh) :]))",
        tests=(
            f"{PROCESSOR_TESTS}/tasks/test_task_order.py::test_the_end_is_said_only_once_every_batch_is_acknowledged",
        ),
    ),
    Mutation(
        "earlier-task-overtaken",
        "Loads",
        "A task starts before the end of the previous task of its namespace.",
        f"{PROCESSOR}/store/tasks.sql",
        before="  AND status <> %(held)s\n)",
        after="  AND status <> %(held)s AND false\n)",
        tests=(
            f"{PROCESSOR_TESTS}/tasks/test_task_order.py::test_a_removal_waits_for_the_load_before_it_and_takes_the_place_of_a_held_one",
        ),
    ),
    Mutation(
        "result-counted-twice",
        "Loads",
        "A repeated result counts twice.",
        f"{PROCESSOR}/store/results.sql",
        before="b.batch_id = n.batch_id AND b.answered_at IS NULL",
        after="b.batch_id = n.batch_id",
        tests=(f"{PROCESSOR_TESTS}/tasks/test_task_order.py::test_a_result_that_comes_again_counts_once",),
    ),
    Mutation(
        "lost-results-not-asked-for",
        "Loads",
        "Lost results are not requested again.",
        f"{PROCESSOR}/app/runs/take_results.py",
        before="        if lost and task.status == _IN_PROGRESS and task.incomplete_runs + 1 < MAX_LOSSES:\n",
        after="        if False:\n",
        tests=(
            f"{PROCESSOR_TESTS}/runs/test_lost_replies.py::test_a_load_whose_replies_are_lost_ends_as_if_they_had_come[lost1]",
        ),
    ),
    Mutation(
        "result-of-an-older-run-counted",
        "Loads",
        "A result of a replaced run counts for its successor.",
        f"{PROCESSOR}/app/runs/take_results.py",
        before="reply.run == task.run and ",
        after="",
        tests=(
            f"{PROCESSOR_TESTS}/runs/test_lost_replies.py::test_refused_batches_end_the_run_and_at_last_the_task_in_words",
        ),
    ),
    Mutation(
        "canceled-task-sent",
        "Loads",
        "A run that records its end during a cancellation reports the end of a canceled task.",
        f"{PROCESSOR}/store/tasks.sql",
        before="""AND task_id = %(task_id)s AND run = %(run)s
  AND ended_at IS NULL

-- name: end_task""",
        after="""AND task_id = %(task_id)s AND run = %(run)s

-- name: end_task""",
        tests=(f"{PROCESSOR_TESTS}/tasks/test_cancel_task.py::test_a_run_that_notes_its_end_too_late_changes_nothing",),
    ),
    Mutation(
        "canceled-load-passed-over",
        "Loads",
        "After a load canceled half-way the previous file counts as loaded, and half of the canceled one stays.",
        f"{PROCESSOR}/store/tasks.sql",
        before="AND (status <> %(canceled)s::smallint OR run > 0)",
        after="AND status <> %(canceled)s::smallint",
        tests=(
            f"{PROCESSOR_TESTS}/tasks/test_making.py::test_after_a_load_that_was_canceled_under_way_whatever_comes_is_loaded",
        ),
    ),
    Mutation(
        "rerun-without-reference",
        "Loads",
        "A repeated load has no reference to its file, which is removed with the earlier task.",
        f"{PROCESSOR}/app/tasks/rerun_task.py",
        before="        await _REFS.add(tx, sha256, key.blob_ref)\n",
        after="",
        tests=(f"{PROCESSOR_TESTS}/tasks/test_rerun_task.py::test_it_loads_the_file_as_the_earlier_task_did",),
    ),
    Mutation(
        "loader-told-of-no-link",
        "Loads",
        "The removal of a namespace with uploads only is reported to the loader repeatedly.",
        f"{API}/store/feeds.sql",
        before="AND version = published_version AND has_link",
        after="AND version = published_version",
        tests=(f"{API_TESTS}/uploads/test_uploads_alone.py::test_it_is_removed_and_filled_and_removed_again",),
    ),
)
