"""Loads: order of tasks and runs, batches, results, sweeps, canceled and repeated loads."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import (
    API,
    API_TESTS,
    LOADER,
    LOADER_TESTS,
    OFFERS,
    OFFERS_TESTS,
    PROCESSOR,
    PROCESSOR_TESTS,
)

_TASKS_SQL: Final = f"{PROCESSOR}/store/tasks.sql"
_TEST_TASK_ORDER: Final = f"{PROCESSOR_TESTS}/integration/tasks/test_task_order.py"
_TEST_OVERTAKING: Final = f"{OFFERS_TESTS}/integration/loads/test_overtaking.py"

MUTATIONS: Final = (
    Mutation(
        "namespace-not-locked",
        "An upload and the removal of its feed get their positions concurrently, in either order.",
        f"{API}/store/task_line.sql",
        before="SELECT pg_advisory_xact_lock(hashtextextended('namespace/'",
        after="SELECT (hashtextextended('namespace/'",
        tests=(
            f"{API_TESTS}/integration/peers/test_task_line.py"
            "::test_upload_waits_for_a_removal_under_way_and_stands_behind_it",
        ),
    ),
    Mutation(
        "older-source-taken",
        "A late version of a feed replaces a newer one.",
        f"{LOADER}/store/sources.sql",
        before="WHERE excluded.feed_version > t.feed_version",
        after="WHERE true",
        tests=(f"{LOADER_TESTS}/integration/rpc/test_feed_source_service.py::test_an_older_version_changes_nothing",),
    ),
    Mutation(
        "task-id-given-twice",
        "After a restore a task id is used twice, and the offers service takes the new file for the old one.",
        _TASKS_SQL,
        before="greatest(last_task_id + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
        after="last_task_id + 1",
        tests=(
            f"{PROCESSOR_TESTS}/integration/tasks/test_making.py"
            "::test_no_id_and_no_run_is_given_twice_across_a_restore",
        ),
    ),
    Mutation(
        "earlier-task-overtaken",
        "A task starts before the end of the previous task of its namespace.",
        _TASKS_SQL,
        before="  AND status <> %(held)s\n)",
        after="  AND status <> %(held)s AND false\n)",
        tests=(f"{_TEST_TASK_ORDER}::test_a_removal_waits_for_the_load_before_it_and_takes_the_place_of_a_held_one",),
    ),
    Mutation(
        "end-before-acknowledgement",
        "The end of a run is sent before Kafka acknowledges all its batches.",
        f"{PROCESSOR}/app/runs/send_run.py",
        before="await parts.sender.send(chunk.messages[-len(fresh) :])",
        after="asyncio.ensure_future(parts.sender.send(chunk.messages[-len(fresh) :]))",
        tests=(f"{_TEST_TASK_ORDER}::test_the_end_is_said_only_once_every_batch_is_acknowledged",),
    ),
    Mutation(
        "result-counted-twice",
        "A repeated result counts twice.",
        f"{PROCESSOR}/store/results.sql",
        before="b.batch_id = n.batch_id AND b.answered_at IS NULL",
        after="b.batch_id = n.batch_id",
        tests=(f"{_TEST_TASK_ORDER}::test_a_result_that_comes_again_counts_once",),
    ),
    Mutation(
        "lost-results-not-asked-for",
        "Lost results are not requested again.",
        f"{PROCESSOR}/app/runs/take_results.py",
        before="        if lost and task.status == _IN_PROGRESS and task.incomplete_runs + 1 < MAX_LOSSES:\n",
        after="        if False:\n",
        tests=(
            f"{PROCESSOR_TESTS}/integration/runs/test_lost_replies.py"
            "::test_a_load_whose_replies_are_lost_ends_as_if_they_had_come[lost1]",
        ),
    ),
    Mutation(
        "canceled-task-sent",
        "A run that records its end during a cancellation reports the end of a canceled task.",
        _TASKS_SQL,
        before="""AND task_id = %(task_id)s AND run = %(run)s
  AND ended_at IS NULL

-- name: end_task""",
        after="""AND task_id = %(task_id)s AND run = %(run)s

-- name: end_task""",
        tests=(
            f"{PROCESSOR_TESTS}/integration/tasks/test_cancel_task.py"
            "::test_a_run_that_notes_its_end_too_late_changes_nothing",
        ),
    ),
    Mutation(
        "canceled-load-passed-over",
        "After a load canceled half-way the previous file counts as loaded, and half of the canceled one stays.",
        _TASKS_SQL,
        before="AND (status <> %(canceled)s::smallint OR run > 0)",
        after="AND status <> %(canceled)s::smallint",
        tests=(
            f"{PROCESSOR_TESTS}/integration/tasks/test_making.py"
            "::test_after_a_load_that_was_canceled_under_way_whatever_comes_is_loaded",
        ),
    ),
    Mutation(
        "rerun-without-reference",
        "A repeated load has no reference to its file, which is removed with the earlier task.",
        f"{PROCESSOR}/app/tasks/rerun_task.py",
        before="        await _REFS.add(tx, sha256, key.blob_ref)\n",
        after="",
        tests=(
            f"{PROCESSOR_TESTS}/integration/tasks/test_rerun_task.py::test_it_loads_the_file_as_the_earlier_task_did",
        ),
    ),
    Mutation(
        "head-not-locked",
        "Batches of an older task are written after a newer task is applied.",
        f"{OFFERS}/store/applying.sql",
        before="\nFOR NO KEY UPDATE OF h",
        after="",
        tests=(f"{_TEST_OVERTAKING}::test_a_newer_task_waits_for_batches_that_are_being_applied",),
    ),
    Mutation(
        "head-not-held-by-the-sweep",
        "A sweep removes offers that a newer task adds at the same time.",
        f"{OFFERS}/store/sweeping.sql",
        before="FOR SHARE OF h FOR UPDATE OF e",
        after="FOR UPDATE OF e",
        tests=(
            f"{_TEST_OVERTAKING}::test_a_newer_task_waits_for_a_step_of_a_sweep",
            f"{_TEST_OVERTAKING}::test_a_sweep_waits_for_a_newer_task_and_sees_it",
        ),
    ),
    Mutation(
        "sweep-trusts-earlier-runs",
        "Offers of an earlier run stay, although the completed run lacks them.",
        f"{OFFERS}/store/sweeping.sql",
        before="AND task_id = %(task)s AND run = %(run)s\n    ) AS unseen",
        after="AND task_id = %(task)s\n    ) AS unseen",
        tests=(f"{_TEST_OVERTAKING}::test_the_run_that_ended_says_what_is_lacking",),
    ),
    Mutation(
        "batch-of-a-lower-run-applied",
        "A batch of a replaced run is applied.",
        f"{OFFERS}/domain/admission.py",
        before="if key.run < now_heads[key.namespace] or key in now_ended:",
        after="if key in now_ended:",
        tests=(f"{OFFERS_TESTS}/integration/loads/test_apply_requests.py::test_a_run_below_the_head_is_stale",),
    ),
    Mutation(
        "stored-result-not-given-again",
        "A repeated batch whose result was lost is refused instead of getting the same result.",
        f"{OFFERS}/app/loads/apply_requests.py",
        before="kept = {key: batch.kept for key, batch in applied.items()}",
        after="kept = dict.fromkeys(applied)",
        tests=(
            f"{OFFERS_TESTS}/integration/loads/test_apply_requests.py"
            "::test_what_is_sent_again_changes_nothing_and_gets_the_same_results",
        ),
    ),
)
