"""Files: blob references, snapshots, issues, downloads, and permits for hosts."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS, PROCESSOR, PROCESSOR_TESTS

_TEST_HOST_LIMITS: Final = f"{COMMON_TESTS}/integration/host_limits/test_host_limits.py"
_HOST_LIMITS_SQL: Final = f"{COMMON}/host_limits/queries.sql"
_TEST_HOST_PERMITS: Final = f"{COMMON_TESTS}/integration/fetch/test_host_permits.py"

MUTATIONS: Final = (
    Mutation(
        "file-deleted-under-its-user",
        "A file is deleted although a reference to it exists.",
        f"{COMMON}/blobs/queries.sql",
        before="WHERE ref_count = 0 AND touched_at",
        after="WHERE touched_at",
        tests=(
            f"{COMMON_TESTS}/integration/blobs/test_blobs.py"
            "::test_sweep_takes_what_nobody_needs_and_not_before_its_time",
        ),
    ),
    Mutation(
        "deletion-without-lock",
        "A reference is added during the deletion of its file, and the file is not stored again.",
        f"{COMMON}/blobs/queries.sql",
        before=" LIMIT 1\n   FOR UPDATE SKIP LOCKED",
        after=" LIMIT 1",
        tests=(
            f"{COMMON_TESTS}/integration/blobs/test_blobs.py"
            "::test_cancelled_sweep_keeps_its_lock_until_the_file_is_gone",
        ),
    ),
    Mutation(
        "snapshot-of-two-versions",
        "A reader gets the rules of one version with the name of another.",
        f"{COMMON}/snapshot/snapshot.py",
        before="        before, self._current, self._digest = self._current, loaded, digest\n",
        after="        before = self._current\n"
        "        self._current = Loaded(before.value if before else loaded.value, loaded.version)\n"
        "        await asyncio.sleep(0.001)\n"
        "        self._current, self._digest = loaded, digest\n",
        tests=(f"{COMMON_TESTS}/integration/snapshot/test_swaps.py::test_readers_see_one_whole_version",),
    ),
    Mutation(
        "further-issues-lost",
        "After the first hundred issues of a code, further issues are counted but not stored.",
        f"{PROCESSOR}/domain/statistics.py",
        before="            kept.further.append(error)\n",
        after="",
        tests=(
            f"{PROCESSOR_TESTS}/integration/issues/test_all_issues.py"
            "::test_every_issue_is_listed_while_the_load_runs_after_it_and_once_it_is_packed",
        ),
    ),
    Mutation(
        "chunks-deleted-before-the-file",
        "If the packing is killed, the issues are neither in chunks nor in the file.",
        f"{PROCESSOR}/app/issues/pack_issues.py",
        before="                await _REFS.add(tx, file.sha256, key.issues_ref)\n            await blobs",
        after="                await _REFS.add(tx, file.sha256, key.issues_ref)\n"
        "                await issues.delete_chunks(tx, key, [each.chunk_id for each in chunks])\n"
        "            await blobs",
        tests=(
            f"{PROCESSOR_TESTS}/integration/issues/test_all_issues.py"
            "::test_a_kill_at_each_step_of_the_packing_loses_nothing_and_leaves_no_file",
        ),
    ),
    Mutation(
        "address-checked-once",
        "A host name that now resolves to an internal address gets requests on its old connection.",
        f"{COMMON}/fetch/download.py",
        before="addresses = await self._resolve()",
        after="addresses = globals().get(self.host) or globals().setdefault(self.host, await self._resolve())",
        tests=(
            f"{COMMON_TESTS}/integration/fetch/test_outer_links.py"
            "::test_no_link_of_the_corpus_gets_a_connection_that_is_kept",
            f"{COMMON_TESTS}/integration/fetch/test_kept_connections.py"
            "::test_a_name_that_turns_inward_is_refused_although_its_connection_is_open",
        ),
    ),
    Mutation(
        "permit-beyond-concurrency",
        "A host gets more concurrent requests than its limit.",
        _HOST_LIMITS_SQL,
        before="cardinality(in_use) < %(at_a_time)s::bigint",
        after="%(at_a_time)s::bigint > 0",
        tests=(f"{_TEST_HOST_LIMITS}::test_so_many_are_under_way_at_a_time_over_all_processes",),
    ),
    Mutation(
        "permit-within-a-pause",
        "A host gets requests within its Retry-After.",
        _HOST_LIMITS_SQL,
        before="WHEN %(wants)s::boolean AND paused_until <= now AND",
        after="WHEN %(wants)s::boolean AND",
        tests=(
            f"{_TEST_HOST_LIMITS}::test_a_host_that_asks_for_it_is_left_alone_by_all_processes",
            f"{_TEST_HOST_PERMITS}::test_nothing_is_sent_within_retry_after",
        ),
    ),
    Mutation(
        "permit-faster-than-the-rate",
        "A host gets more requests in a second than its rate.",
        _HOST_LIMITS_SQL,
        before=" AND due_at <= now\n",
        after="\n",
        tests=(f"{_TEST_HOST_PERMITS}::test_no_second_sees_more_requests_than_the_rate",),
    ),
    Mutation(
        "permit-held-for-ever",
        "The permit of a process that died is never released.",
        _HOST_LIMITS_SQL,
        before="WHERE permit > now_us AND permit <> ALL (%(released)s::bigint[])",
        after="WHERE permit <> ALL (%(released)s::bigint[])",
        tests=(f"{_TEST_HOST_LIMITS}::test_the_permit_of_a_process_that_died_comes_free_after_its_time",),
    ),
    Mutation(
        "permits-of-one-owner-alone",
        "The slow files of one owner take all permits of a host.",
        f"{COMMON}/host_limits/owners.py",
        before="        if not owner:",
        after="        if host:",
        tests=(f"{_TEST_HOST_PERMITS}::test_a_slow_file_of_one_owner_leaves_the_host_to_another",),
    ),
)
