"""Leases and fences."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS

_LEASE_SQL: Final = f"{COMMON}/lease/queries.sql"
_LEASE_TESTS: Final = f"{COMMON_TESTS}/lease/test_lease.py"

MUTATIONS: Final = (
    Mutation(
        "lease-guard-without-fence",
        "Leases and fences",
        "A process that lost a lease and acquired it again passes the guard with the older fence.",
        _LEASE_SQL,
        before="AND fence = %(fence)s AND expires_at > clock_timestamp()",
        after="AND expires_at > clock_timestamp()",
        tests=(f"{_LEASE_TESTS}::test_the_same_holder_is_refused_with_an_older_fence",),
    ),
    Mutation(
        "lease-guard-without-lock",
        "Leases and fences",
        "A lease is taken over between a guard and the commit of the guarded work.",
        _LEASE_SQL,
        before="clock_timestamp()\n   FOR KEY SHARE",
        after="clock_timestamp()",
        tests=(f"{_LEASE_TESTS}::test_no_zombie_overwrites_its_successor",),
    ),
    Mutation(
        "lease-taken-while-held",
        "Leases and fences",
        "A lease is acquired although it has not expired.",
        _LEASE_SQL,
        before="WHERE name = ANY(%(names)s::text[]) AND expires_at <= clock_timestamp()",
        after="WHERE name = ANY(%(names)s::text[])",
        tests=(f"{_LEASE_TESTS}::test_a_name_has_one_holder_until_it_expires_and_the_fence_grows",),
    ),
    Mutation(
        "lease-renewed-with-any-fence",
        "Leases and fences",
        "The holder of a revoked lease continues to renew it.",
        _LEASE_SQL,
        before=" AND leases.fence = held.fence",
        after="",
        tests=(f"{_LEASE_TESTS}::test_revoking_waits_for_guarded_work_and_fences_off_the_rest",),
    ),
    Mutation(
        "lease-revoked-during-guarded-work",
        "Leases and fences",
        "A lease is revoked without waiting for the transactions that it guards.",
        _LEASE_SQL,
        before="WHERE name = %(name)s FOR UPDATE",
        after="WHERE name = %(name)s",
        tests=(f"{_LEASE_TESTS}::test_revoking_waits_for_guarded_work_and_fences_off_the_rest",),
    ),
    Mutation(
        "lease-released-before-its-work-stopped",
        "Leases and fences",
        "During a drain the next holder starts while the previous one is still stopping.",
        f"{COMMON}/lease/keeper.py",
        before="        try:\n            await self._on_loss(lease)\n",
        after="        try:\n            await self._leases.release(lease)\n            await self._on_loss(lease)\n",
        tests=(f"{COMMON_TESTS}/lease/test_lease_keeper.py::test_a_lease_is_kept_until_the_work_for_it_has_stopped",),
    ),
)
