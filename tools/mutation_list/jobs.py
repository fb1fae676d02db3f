"""Jobs."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import JOBS, JOBS_TESTS

MUTATIONS: Final = (
    Mutation(
        "claim-guard-without-fence",
        "Jobs",
        "An effect is committed under a claim that was given to another run.",
        f"{JOBS}/claim/guard.sql",
        before="AND j.claim_no = %(claim_no)s AND j.status = 'running'\nFOR KEY SHARE OF j",
        after="AND j.status = 'running'\nFOR KEY SHARE OF j",
        tests=(f"{JOBS_TESTS}/claim/test_claims.py::test_guard_refuses_a_claim_that_was_taken_back",),
    ),
    Mutation(
        "claim-guard-without-lock",
        "Jobs",
        "A claim is taken back between its guard and the commit of the effect.",
        f"{JOBS}/claim/guard.sql",
        before="\nFOR KEY SHARE OF j",
        after="",
        tests=(f"{JOBS_TESTS}/claim/test_claims.py::test_guard_holds_off_the_reaper_until_the_effect_is_in",),
    ),
    Mutation(
        "checkpoint-of-a-lost-claim",
        "Jobs",
        "Slices of a run that lost its claim are committed beside those of its successor.",
        f"{JOBS}/claim/guard.py",
        before="    await guard_claim(tx, job_id, claim_no)\n",
        after="",
        tests=(f"{JOBS_TESTS}/claim/test_claims.py::test_guard_refuses_a_claim_that_was_taken_back",),
    ),
    Mutation(
        "claims-fail-in-the-log-only",
        "Jobs",
        "No job can be claimed, and the service reports that nothing is blocked.",
        f"{JOBS}/worker/fetcher.py",
        before=", noted_in=self.fault",
        after="",
        tests=(f"{JOBS_TESTS}/worker/test_role_faults.py::test_worker_goes_on_claiming_after_faults",),
    ),
    Mutation(
        "reaper-fails-in-the-log-only",
        "Jobs",
        "Lost jobs cannot be given back, and the service reports that nothing is blocked.",
        f"{JOBS}/maintenance/reaper.py",
        before=", noted_in=self._fault",
        after="",
        tests=(f"{JOBS_TESTS}/worker/test_role_faults.py::test_reaper_goes_on_after_faults",),
    ),
    Mutation(
        "scheduler-fails-in-the-log-only",
        "Jobs",
        "Scheduled jobs cannot be enqueued, and the service reports that nothing is blocked.",
        f"{JOBS}/schedule/scheduler.py",
        before=", noted_in=self._fault",
        after="",
        tests=(
            f"{JOBS_TESTS}/worker/test_role_faults.py::test_scheduler_goes_on_after_faults_and_makes_the_slot_once",
        ),
    ),
    Mutation(
        "chore-fails-in-the-log-only",
        "Jobs",
        "The tables of jobs are not looked after, and the service reports that nothing is blocked.",
        f"{JOBS}/maintenance/housekeeping.py",
        before=", noted_in=chore.fault",
        after="",
        tests=(
            f"{JOBS_TESTS}/worker/test_role_faults.py"
            "::test_chore_that_fails_is_tried_again_and_keeps_no_other_from_being_done",
        ),
    ),
    Mutation(
        "unrecorded-ends-in-the-log-only",
        "Jobs",
        "Ends of jobs cannot be recorded, and the service reports that nothing is blocked.",
        f"{JOBS}/worker/completions.py",
        before="                self.fault.note(error)\n",
        after="",
        tests=(f"{JOBS_TESTS}/worker/test_role_faults.py::test_end_is_written_until_the_database_has_taken_it",),
    ),
    Mutation(
        "failed-heartbeats-in-the-log-only",
        "Jobs",
        "The lease of a process cannot be renewed, and the service reports that nothing is blocked.",
        f"{JOBS}/worker/heartbeat.py",
        before=", noted_in=self.fault",
        after="",
        tests=(
            f"{JOBS_TESTS}/worker/test_role_faults.py"
            "::test_heartbeat_that_fails_is_tried_again_long_before_the_next_one",
        ),
    ),
    Mutation(
        "reaper-takes-from-the-living",
        "Jobs",
        "Jobs are taken from a process that has renewed its lease in time.",
        f"{JOBS}/maintenance/reaper.sql",
        before="      AND j.lease_ttl_sec < ceil(extract(epoch FROM statement_timestamp() - w.renewed_at))::integer\n",
        after="",
        tests=(f"{JOBS_TESTS}/claim/test_claims.py::test_reaper_returns_fails_or_cancels_what_is_lost",),
    ),
    Mutation(
        "idempotency-key-taken-over",
        "Jobs",
        "A request that is repeated makes a second job.",
        f"{JOBS}/enqueue/jobs.sql",
        before="        WHERE k.expires_at <= clock_timestamp()\n    RETURNING job_id",
        after="    RETURNING job_id",
        tests=(f"{JOBS_TESTS}/worker/test_worker.py::test_idempotency_key_gives_the_first_job_and_names_what_differs",),
    ),
    Mutation(
        "wake-of-a-running-job-lost",
        "Jobs",
        "A job that is made due while it runs sleeps all the same.",
        f"{JOBS}/enqueue/jobs.sql",
        before=" OR j.status = 'running')\n",
        after=")\n",
        tests=(f"{JOBS_TESTS}/enqueue/test_make_due.py::test_job_made_due_while_it_runs_does_not_sleep",),
    ),
    Mutation(
        "drain-uses-up-an-attempt",
        "Jobs",
        "A job that a stopping process hands back has one attempt less.",
        f"{JOBS}/claim/finish.sql",
        before="WHEN f.outcome IN ('snoozed', 'returned') THEN j.attempt - 1",
        after="WHEN f.outcome IN ('snoozed') THEN j.attempt - 1",
        tests=(f"{JOBS_TESTS}/worker/test_worker.py::test_drain_hands_back_without_using_the_attempt",),
    ),
    Mutation(
        "panic-keeps-its-slot",
        "Jobs",
        "A job whose handler panics or calls `sys.exit` never ends, and its slot runs no other.",
        f"{JOBS}/worker/run.py",
        before="BaseException as error:  # noqa: BLE001 - becomes the end of the run\n            if bound",
        after="Exception as error:\n            if bound",
        tests=(
            f"{JOBS_TESTS}/worker/test_last_resorts.py"
            "::test_job_of_a_handler_that_panics_or_exits_ends_as_a_fault_and_its_slot_is_free",
        ),
    ),
    Mutation(
        "schedules-share-a-fault",
        "Jobs",
        "A schedule whose job cannot be enqueued keeps others that are due from theirs.",
        f"{JOBS}/schedule/scheduler.py",
        before="            if is_passing(error):\n                raise\n",
        after="            raise\n",
        tests=(f"{JOBS_TESTS}/schedule/test_schedules.py::test_job_that_cannot_be_enqueued_stops_no_other_schedule",),
    ),
)
