"""Leases with their fences, the start of a process, and reports of what is blocked."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS, INDEXER_TESTS, JOBS_TESTS, MODERATION_TESTS, SEARCHER_TESTS

_LEASE_SQL: Final = f"{COMMON}/lease/queries.sql"
_TEST_LEASE: Final = f"{COMMON_TESTS}/integration/lease/test_lease.py"

MUTATIONS: Final = (
    Mutation(
        "lease-guard-without-fence",
        "A process that lost a lease and acquired it again passes the guard with the older fence.",
        _LEASE_SQL,
        before="AND fence = %(fence)s AND expires_at > clock_timestamp()",
        after="AND expires_at > clock_timestamp()",
        tests=(f"{_TEST_LEASE}::test_the_same_holder_is_refused_with_an_older_fence",),
    ),
    Mutation(
        "lease-guard-without-lock",
        "A lease is taken over between a guard and the commit of the guarded work.",
        _LEASE_SQL,
        before="clock_timestamp()\n   FOR KEY SHARE",
        after="clock_timestamp()",
        tests=(f"{_TEST_LEASE}::test_no_zombie_overwrites_its_successor",),
    ),
    Mutation(
        "lease-taken-while-held",
        "A lease is acquired although it has not expired.",
        _LEASE_SQL,
        before="WHERE name = ANY(%(names)s::text[]) AND expires_at <= clock_timestamp()",
        after="WHERE name = ANY(%(names)s::text[])",
        tests=(f"{_TEST_LEASE}::test_a_name_has_one_holder_until_it_expires_and_the_fence_grows",),
    ),
    Mutation(
        "lease-renewed-with-any-fence",
        "The holder of a revoked lease continues to renew it.",
        _LEASE_SQL,
        before=" AND leases.fence = held.fence",
        after="",
        tests=(f"{_TEST_LEASE}::test_revoking_waits_for_guarded_work_and_fences_off_the_rest",),
    ),
    Mutation(
        "lease-released-before-its-work-stopped",
        "During a drain the next holder starts while the previous one is still stopping.",
        f"{COMMON}/lease/keeper.py",
        before="        try:\n            await self._on_loss(lease)\n",
        after="        try:\n            await self._leases.release(lease)\n            await self._on_loss(lease)\n",
        tests=(
            f"{COMMON_TESTS}/integration/lease/test_lease_keeper.py"
            "::test_a_lease_is_kept_until_the_work_for_it_has_stopped",
        ),
    ),
    Mutation(
        "start-before-the-migrate-step",
        "A process that starts before its migrate step exits at the first missing table, repeatedly.",
        f"{COMMON}/runner/service.py",
        before="        if isinstance(error, FailedPrecondition):",
        after="        if False:",
        tests=(
            f"{COMMON_TESTS}/integration/runner/test_schema_check.py"
            "::test_a_process_waits_for_its_migrate_step_and_goes_on_by_itself",
        ),
    ),
    Mutation(
        "repeated-work-not-named",
        "Periodic work fails for hours, and the service reports that nothing is blocked.",
        f"{COMMON}/loops/loop.py",
        before=", noted_in=self.fault",
        after="",
        tests=(
            f"{COMMON_TESTS}/unit/loops/test_loop.py::test_one_that_lasts_is_named_until_it_is_over",
            f"{COMMON_TESTS}/integration/outbox/test_blocked_relay.py"
            "::test_a_relay_names_topics_and_fault_until_it_sends_again",
            f"{COMMON_TESTS}/integration/publish_mark/test_publish_mark.py"
            "::test_a_push_that_fails_is_named_until_one_succeeds",
            f"{JOBS_TESTS}/worker/test_role_faults.py::test_reaper_goes_on_after_faults",
            f"{JOBS_TESTS}/worker/test_role_faults.py::test_scheduler_goes_on_after_faults_and_makes_the_slot_once",
            f"{JOBS_TESTS}/worker/test_role_faults.py"
            "::test_chore_that_fails_is_tried_again_and_keeps_no_other_from_being_done",
            f"{JOBS_TESTS}/worker/test_role_faults.py::test_worker_goes_on_claiming_after_faults",
            f"{JOBS_TESTS}/worker/test_role_faults.py"
            "::test_heartbeat_that_fails_is_tried_again_long_before_the_next_one",
            f"{INDEXER_TESTS}/integration/test_deliver.py"
            "::test_what_holds_up_delivery_is_named_until_it_goes_on[refuses]",
            f"{SEARCHER_TESTS}/integration/test_verify.py::test_a_comparison_that_fails_is_named_until_one_succeeds",
            f"{MODERATION_TESTS}/integration/judging/test_correcting.py"
            "::test_texts_that_cannot_be_claimed_are_named_until_they_can",
        ),
    ),
)
