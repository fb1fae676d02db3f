"""Offers."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import OFFERS, OFFERS_TESTS

MUTATIONS: Final = (
    Mutation(
        "head-not-locked",
        "Offers",
        "A newer task is applied while batches of an older one are, and the older ones are written last.",
        f"{OFFERS}/store/applying.sql",
        before="\nFOR NO KEY UPDATE OF h",
        after="",
        tests=(f"{OFFERS_TESTS}/loads/test_overtaking.py::test_a_newer_task_waits_for_batches_that_are_being_applied",),
    ),
    Mutation(
        "head-not-held-by-the-sweep",
        "Offers",
        "A sweep removes what a newer task is just bringing.",
        f"{OFFERS}/store/sweeping.sql",
        before="FOR SHARE OF h FOR UPDATE OF e",
        after="FOR UPDATE OF e",
        tests=(
            f"{OFFERS_TESTS}/loads/test_overtaking.py::test_a_newer_task_waits_for_a_step_of_a_sweep",
            f"{OFFERS_TESTS}/loads/test_overtaking.py::test_a_sweep_waits_for_a_newer_task_and_sees_it",
        ),
    ),
    Mutation(
        "overtaken-sweep-goes-on",
        "Offers",
        "A sweep goes on removing after a newer run has begun.",
        f"{OFFERS}/app/loads/sweep_run.py",
        before='if end.head != run.run:\n        await sweeping.finish(tx, run, "STALE")\n        return Step(',
        after='if end.head < run.run:\n        await sweeping.finish(tx, run, "STALE")\n        return Step(',
        tests=(f"{OFFERS_TESTS}/loads/test_overtaking.py::test_a_sweep_waits_for_a_newer_task_and_sees_it",),
    ),
    Mutation(
        "sweep-trusts-earlier-runs",
        "Offers",
        "What an earlier run of a task has seen is not removed, although the run that ended lacks it.",
        f"{OFFERS}/store/sweeping.sql",
        before="AND task_id = %(task)s AND run = %(run)s\n    ) AS unseen",
        after="AND task_id = %(task)s\n    ) AS unseen",
        tests=(f"{OFFERS_TESTS}/loads/test_overtaking.py::test_the_run_that_ended_says_what_is_lacking",),
    ),
    Mutation(
        "batch-of-a-lower-run-applied",
        "Offers",
        "A batch of a run that was replaced is applied.",
        f"{OFFERS}/domain/admission.py",
        before="if key.run < now_heads[key.namespace] or key in now_ended:",
        after="if key in now_ended:",
        tests=(f"{OFFERS_TESTS}/loads/test_apply_requests.py::test_a_run_below_the_head_is_stale",),
    ),
    Mutation(
        "stored-result-not-given-again",
        "Offers",
        "A batch that is sent again, as its result was lost, is refused instead of getting the same result.",
        f"{OFFERS}/app/loads/apply_requests.py",
        before="kept = {key: batch.kept for key, batch in applied.items()}",
        after="kept = dict.fromkeys(applied)",
        tests=(
            f"{OFFERS_TESTS}/loads/test_apply_requests.py::test_what_is_sent_again_changes_nothing_and_gets_the_same_results",
        ),
    ),
    Mutation(
        "digest-not-compared",
        "Offers",
        "Other content under the number of an applied batch gets a result as if it had been applied.",
        f"{OFFERS}/domain/admission.py",
        before="if known is None or digest == known else",
        after="if known is None or digest else",
        tests=(f"{OFFERS_TESTS}/loads/test_apply_requests.py::test_other_content_under_the_same_numbers_is_refused",),
    ),
)
