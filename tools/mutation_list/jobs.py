"""Jobs: claims with their fences, requeueing, idempotency, limits, schedules, and damaged jobs."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import JOBS, JOBS_TESTS

_TEST_CLAIMS: Final = f"{JOBS_TESTS}/claim/test_claims.py"

MUTATIONS: Final = (
    Mutation(
        "claim-guard-without-fence",
        "An effect is committed under a claim that another run has got.",
        f"{JOBS}/claim/guard.sql",
        before="AND j.claim_no = %(claim_no)s AND j.status = 'running'\nFOR KEY SHARE OF j",
        after="AND j.status = 'running'\nFOR KEY SHARE OF j",
        tests=(f"{_TEST_CLAIMS}::test_guard_refuses_a_claim_that_was_taken_back",),
    ),
    Mutation(
        "claim-guard-without-lock",
        "A claim is revoked between its guard and the commit of the effect.",
        f"{JOBS}/claim/guard.sql",
        before="\nFOR KEY SHARE OF j",
        after="",
        tests=(f"{_TEST_CLAIMS}::test_guard_holds_off_the_reaper_until_the_effect_is_in",),
    ),
    Mutation(
        "checkpoint-of-a-lost-claim",
        "Slices of a run that lost its claim are committed together with those of its successor.",
        f"{JOBS}/claim/guard.py",
        before="    await guard_claim(tx, job_id, claim_no)\n",
        after="",
        tests=(f"{_TEST_CLAIMS}::test_guard_refuses_a_claim_that_was_taken_back",),
    ),
    Mutation(
        "reaper-takes-from-the-living",
        "Jobs are requeued although their process has renewed its lease in time.",
        f"{JOBS}/maintenance/reaper.sql",
        before="      AND j.lease_ttl_sec < ceil(extract(epoch FROM statement_timestamp() - w.renewed_at))::integer\n",
        after="",
        tests=(f"{_TEST_CLAIMS}::test_reaper_returns_fails_or_cancels_what_is_lost",),
    ),
    Mutation(
        "idempotency-key-taken-over",
        "A repeated request creates a second job.",
        f"{JOBS}/enqueue/jobs.sql",
        before="        WHERE k.expires_at <= clock_timestamp()\n    RETURNING job_id",
        after="    RETURNING job_id",
        tests=(f"{JOBS_TESTS}/worker/test_worker.py::test_idempotency_key_gives_the_first_job_and_names_what_differs",),
    ),
    Mutation(
        "wake-of-a-running-job-lost",
        "A job that is made due while it runs still sleeps.",
        f"{JOBS}/enqueue/jobs.sql",
        before=" OR j.status = 'running')\n",
        after=")\n",
        tests=(f"{JOBS_TESTS}/enqueue/test_make_due.py::test_job_made_due_while_it_runs_does_not_sleep",),
    ),
    Mutation(
        "damaged-job-stops-claims",
        "One damaged row stops all jobs of its queue.",
        f"{JOBS}/worker/fetcher.py",
        before="or not await set_damaged_aside(connection, queues=queues, tasks=self._tasks)",
        after="or queues",
        tests=(f"{JOBS_TESTS}/claim/test_poisoned_rows.py::test_poisoned_row_stops_no_other_job[long lock key-ready]",),
    ),
    Mutation(
        "schedules-share-a-fault",
        "A schedule whose job cannot be enqueued blocks other due schedules.",
        f"{JOBS}/schedule/scheduler.py",
        before="            if is_passing(error):\n                raise\n",
        after="            raise\n",
        tests=(f"{JOBS_TESTS}/schedule/test_schedules.py::test_job_that_cannot_be_enqueued_stops_no_other_schedule",),
    ),
    Mutation(
        "queue-filled-by-one-caller",
        "One caller can have an unlimited number of open jobs.",
        f"{JOBS}/admin/admin.py",
        before="if sum(response.created for response in responses) > room:",
        after="if False:",
        tests=(f"{JOBS_TESTS}/api/test_http.py::test_a_caller_has_so_many_open_jobs_and_no_more",),
    ),
)
