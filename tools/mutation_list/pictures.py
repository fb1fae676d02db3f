"""Pictures: requests, results, and bytes in use."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import OFFERS, OFFERS_TESTS, PICTURES, PICTURES_TESTS

_TEST_LIFECYCLE: Final = f"{PICTURES_TESTS}/unit/domain/lifecycle/test_lifecycle.py"
_LIFECYCLE: Final = f"{PICTURES}/domain/lifecycle/lifecycle.py"

MUTATIONS: Final = (
    Mutation(
        "position-before-its-events",
        "The resharder moves its position before Kafka has its events, which are then lost.",
        f"{PICTURES}/consumers/resharder.py",
        before="        await send_messages(self._producer, [*made.events, *made.refusals])\n",
        after="        self.late = __import__('asyncio').ensure_future("
        "send_messages(self._producer, [*made.events, *made.refusals]))\n",
        tests=(f"{PICTURES_TESTS}/integration/keys/test_resharder.py::test_a_failed_send_is_repeated_as_a_whole",),
    ),
    Mutation(
        "download-for-each-request",
        "A URL in download is downloaded again for each request.",
        f"{PICTURES}/domain/lifecycle/orders.py",
        before="    if holding.is_open(lost_before) or state.open_download(lost_before) is not None:\n        return\n",
        after="    holding.ordered_at = None\n",
        tests=(f"{_TEST_LIFECYCLE}::test_an_unknown_picture_is_ordered_once",),
    ),
    Mutation(
        "file-before-its-reference",
        "A sweep removes the files of a picture between their put and their reference.",
        f"{PICTURES}/app/files/store_picture.py",
        before="        async with (begin or self._database.transaction)() as tx:\n"
        "            new = await record_stored(tx, self._refs, picture, namespace)\n"
        "        for sha256, content in files.items():\n"
        "            await self._blobs.put_bytes(content, sha256, is_new=sha256 in new)\n",
        after="        for sha256, content in files.items():\n"
        "            await self._blobs.put_bytes(content, sha256)\n"
        "        async with (begin or self._database.transaction)() as tx:\n"
        "            await record_stored(tx, self._refs, picture, namespace)\n",
        tests=(
            f"{PICTURES_TESTS}/integration/files/test_byte_histories.py"
            "::test_what_is_held_can_be_read_and_nothing_is_left_over",
        ),
    ),
    Mutation(
        "download-of-a-lost-claim-stored",
        "A process that paused past its lease stores a picture that no state has, and it is never deleted.",
        f"{PICTURES}/jobs/download.py",
        before="await download(order, begin=ctx.guarded_transaction)",
        after="await download(order)",
        tests=(
            f"{PICTURES_TESTS}/integration/jobs/test_lost_claims.py"
            "::test_a_download_whose_claim_is_lost_stores_nothing",
        ),
    ),
    Mutation(
        "older-attempt-wins",
        "A late result of an older attempt replaces a newer one.",
        _LIFECYCLE,
        before="        if held is not None and attempt <= holding.info_attempt:\n",
        after="        if held is not None and attempt == holding.info_attempt:\n",
        tests=(f"{_TEST_LIFECYCLE}::test_the_older_attempt_never_wins",),
    ),
    Mutation(
        "second-comparison-at-any-time",
        "Two comparisons in quick succession, or a repeated one, delete a picture.",
        _LIFECYCLE,
        before="        elif event.at >= state.delete_mark_at + self._rules.delete_after:\n",
        after="        else:\n",
        tests=(
            f"{_TEST_LIFECYCLE}::test_repeated_and_late_comparisons_count_once",
            f"{PICTURES_TESTS}/integration/events/test_processing.py"
            "::test_two_comparisons_delete_state_requests_and_picture",
        ),
    ),
    Mutation(
        "held-picture-removed-as-orphan",
        "The daily pass removes pictures that offers show.",
        f"{PICTURES}/app/files/check_stored.py",
        before="return held is None or (held.group_id, held.name) != (row.address.group_id, row.address.name)",
        after="return True",
        tests=(
            f"{PICTURES_TESTS}/integration/files/test_check_stored.py::test_orphans_go_and_held_and_young_ones_stay",
        ),
    ),
    Mutation(
        "given-up-download-unreported",
        "A download that is given up is not reported, and its recipients wait until the order is repeated.",
        f"{PICTURES}/jobs/download.py",
        before="        await reporter.report_fault(tx, DownloadOrder.FromString(args.message), job)\n",
        after="        return\n",
        tests=(
            f"{PICTURES_TESTS}/integration/jobs/test_given_up.py"
            "::test_a_download_that_fails_five_times_by_an_unknown_fault_is_reported",
            f"{PICTURES_TESTS}/integration/jobs/test_given_up.py"
            "::test_a_download_at_which_three_workers_die_is_reported",
        ),
    ),
    Mutation(
        "giving-up-deletes-for-all",
        "A recipient that gives up a picture deletes it for recipients that still need it.",
        _LIFECYCLE,
        before="            if state.is_put or namespace in needed:",
        after="            if state.is_put:",
        tests=(
            f"{PICTURES_TESTS}/unit/domain/lifecycle/test_recipients.py"
            "::test_a_recipient_that_gives_up_deletes_nothing_that_others_need",
        ),
    ),
    Mutation(
        "positions-not-set-back",
        "A restore does not reset the positions, so events since the backup are lost.",
        f"{PICTURES}/app/backups/restore_backup.py",
        before="backups.set_stands(tx, places.exact, places.least)",
        after="backups.set_stands(tx, (), places.least)",
        tests=(
            f"{PICTURES_TESTS}/integration/backups/test_backups.py::test_a_restored_state_equals_an_undisturbed_one",
        ),
    ),
    Mutation(
        "requested-outside-of-the-transaction",
        "A picture is recorded as requested, and its request is lost.",
        f"{OFFERS}/app/request_again.py",
        before="                await self._outbox.put(tx, await self.request(tx, namespace, external_ids, "
        "wait_s=self._wait_s))\n",
        after="                made = await self.request(tx, namespace, external_ids, wait_s=self._wait_s)\n"
        "            async with self._database.transaction() as tx:\n"
        "                await self._outbox.put(tx, made)\n",
        tests=(
            f"{OFFERS_TESTS}/integration/pictures/test_pictures.py"
            "::test_what_is_requested_again_is_still_due_where_the_request_is_not_kept",
        ),
    ),
)
