"""Backups of pictures, and their restore."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import OFFERS, OFFERS_TESTS, PICTURES, PICTURES_TESTS

_MECHANISM: Final = "Backups of pictures"
_RESTORE: Final = f"{PICTURES}/app/backups/restore_backup.py"
_TESTS: Final = f"{PICTURES_TESTS}/integration/backups/test_backups.py"
_PARTS: Final = f"{PICTURES_TESTS}/integration/backups/test_backup_parts.py"
_GAPS: Final = f"{PICTURES_TESTS}/integration/states/test_event_gaps.py"
_NOTICE: Final = f"{PICTURES}/app/restores/find_restored.py"
_MARKS: Final = f"{PICTURES_TESTS}/integration/backups/test_table_marks.py"
_FILES: Final = f"{PICTURES_TESTS}/unit/clients/test_backup_files.py"

MUTATIONS: Final = (
    Mutation(
        "positions-not-set-back",
        _MECHANISM,
        "A restore does not reset the positions, so events since the backup are lost.",
        _RESTORE,
        before="backups.set_stands(tx, places.exact, places.least)",
        after="backups.set_stands(tx, (), places.least)",
        tests=(f"{_TESTS}::test_a_restored_state_equals_an_undisturbed_one",),
    ),
    Mutation(
        "lost-events-not-requested-again",
        _MECHANISM,
        "After a restore without all events, pictures that offers show stay unknown.",
        _RESTORE,
        before="            if not places.is_whole:\n                await self.on_events_lost",
        after="            if places.is_whole:\n                await self.on_events_lost",
        tests=(
            f"{_PARTS}::test_what_no_event_brings_again_is_in_the_backup",
            f"{_GAPS}::test_offers_requests_again_after_a_restore_without_all_events",
        ),
    ),
    Mutation(
        "gap-closed-before-offers-has-the-request",
        _MECHANISM,
        "A gap is closed although the call to the offers service failed.",
        f"{PICTURES}/app/states/close_event_gaps.py",
        before='        job_id = await self.offers.request_pictures(f"pictures-{newest}")\n',
        after="""        async with self.database.transaction() as tx:
            await event_gaps.close_through(tx, newest)
        job_id = await self.offers.request_pictures(f"pictures-{newest}")
""",
        tests=(f"{_GAPS}::test_a_lost_response_is_requested_again_under_the_same_id",),
    ),
    Mutation(
        "gap-of-a-new-database-left-open",
        _MECHANISM,
        "A lost database lacks the pictures of offers for up to an hour, until the schedule runs.",
        f"{PICTURES}/jobs/close_event_gaps.py",
        before="        if gaps := await event_gaps.list_open(tx):",
        after="        if not (gaps := await event_gaps.list_open(tx)):",
        tests=(f"{_GAPS}::test_a_start_has_a_gap_closed_that_nobody_knows_of_and_no_more",),
    ),
    Mutation(
        "later-gap-closed-by-an-earlier-request",
        _MECHANISM,
        "A gap that opens during the call to the offers service is closed by that call.",
        f"{PICTURES}/store/events/event_gaps.sql",
        before="WHERE closed_at IS NULL AND gap_id <= %(gap_id)s",
        after="WHERE closed_at IS NULL OR gap_id <= %(gap_id)s",
        tests=(f"{_GAPS}::test_a_gap_that_opens_during_the_call_stays_open",),
    ),
    Mutation(
        "deleted-picture-requested-again",
        _MECHANISM,
        "A picture that an operator deleted is stored again when all pictures are requested again.",
        f"{OFFERS}/domain/pictures.py",
        before=" if it.failure.code != DELETED]",
        after="]",
        tests=(
            f"{OFFERS_TESTS}/pictures/test_request_pictures.py::test_all_are_requested_again_whatever_is_known_of_them",
        ),
    ),
    Mutation(
        "restored-unchecked",
        _MECHANISM,
        "A damaged file of a backup is found only after the replacement of the state, or never.",
        _RESTORE,
        before="                        await asyncio.to_thread(check_file, folder / file.name, file)\n",
        after="",
        tests=(f"{_TESTS}::test_a_damaged_file_is_named_before_anything_is_changed",),
    ),
    Mutation(
        "results-from-before-a-restore-taken",
        _MECHANISM,
        "A result from before a restore counts, so the state has a picture that no table has.",
        f"{PICTURES}/domain/restoring.py",
        before="            record.first_attempt = self.number\n",
        after="",
        tests=(
            f"{_FILES}::test_pictures_stay_under_the_number_of_the_restore_and_orders_are_due_again",
            f"{_TESTS}::test_a_restored_state_equals_an_undisturbed_one",
        ),
    ),
    Mutation(
        "unsent-results-not-backed-up",
        _MECHANISM,
        "A result that was unsent when the database was lost is never sent: its request is settled.",
        f"{PICTURES}/store/backups/backup_columns.py",
        before='WHOLE: Final = ("namespaces", "event_files", RESULTS)',
        after='WHOLE: Final = ("namespaces", "event_files")',
        tests=(f"{_PARTS}::test_what_no_event_brings_again_is_in_the_backup",),
    ),
    Mutation(
        "backups-without-their-files",
        _MECHANISM,
        "A file is deleted a day after its last reference although a backup refers to it.",
        f"{PICTURES}/app/backups/measure_backups.py",
        before="    if not names:\n        return GRACE_S\n",
        after="    if names is not None:\n        return GRACE_S\n",
        tests=(f"{_TESTS}::test_the_newest_backups_are_kept_and_files_for_as_long_as_the_oldest",),
    ),
    Mutation(
        "put-beside-a-restore",
        _MECHANISM,
        "A picture that is put during a restore is in the restored state, but not stored.",
        f"{PICTURES}/app/files/put_picture.py",
        before="if await find_stored(tx, info.namespace, info.group_id, info.name) is None:",
        after="if False:",
        tests=(f"{_PARTS}::test_a_put_that_a_restore_comes_between_is_refused",),
    ),
    Mutation(
        "restored-table-not-noticed",
        _MECHANISM,
        "A restore of only the states is not detected: newer pictures are deleted after a day.",
        _NOTICE,
        before="return found.number < found.noted",
        after="return found.number > found.noted",
        tests=(f"{_MARKS}::test_events_since_the_mark_are_applied_again",),
    ),
    Mutation(
        "emptied-table-not-noticed",
        _MECHANISM,
        "An emptied table of states counts as new, so offers never requests its pictures again.",
        _NOTICE,
        before="return found.is_empty and table.is_never_empty and found.had_rows",
        after="return False",
        tests=(f"{_MARKS}::test_an_emptied_table_has_offers_request_again",),
    ),
    Mutation(
        "events-not-applied-after-a-restored-table",
        _MECHANISM,
        "A restore of only the states is reported, but pictures requested since are never downloaded again.",
        _NOTICE,
        before="        await marks.rewind(tx, self.group, found.positions)\n",
        after="",
        tests=(f"{_MARKS}::test_events_since_the_mark_are_applied_again",),
    ),
    Mutation(
        "files-not-derived-after-a-restored-table",
        _MECHANISM,
        "Files of pictures whose references a restore lost are deleted.",
        _NOTICE,
        before="                await backups.derive_files(tx)\n",
        after="                pass\n",
        tests=(f"{_MARKS}::test_files_that_stored_pictures_need_are_noted_again",),
    ),
    Mutation(
        "lost-pictures-not-downloaded-again",
        _MECHANISM,
        "Pictures whose rows a restore lost stay in their states, but no request finds them.",
        f"{PICTURES}/app/restores/check_states.py",
        before="    await fetch_again(tx, list(lost.items()), outbox=outbox)\n",
        after="",
        tests=(f"{_MARKS}::test_lost_pictures_are_downloaded_again_and_the_rest_counts",),
    ),
    Mutation(
        "requests-put-back-wait-for-ever",
        _MECHANISM,
        "Settled requests that a restore brings back wait until their pictures change.",
        f"{PICTURES}/domain/lifecycle/lifecycle.py",
        before="                self._effects.report(info.namespace, holding.info_attempt, held)\n",
        after="                pass\n",
        tests=(
            f"{PICTURES_TESTS}/unit/domain/lifecycle/test_lifecycle.py"
            "::test_a_repeated_result_goes_to_requests_that_wait_and_changes_nothing",
        ),
    ),
    Mutation(
        "lost-jobs-hidden-by-new-ones",
        _MECHANISM,
        "After a restore of the job tables the first new job hides the loss of others.",
        f"{PICTURES}/store/backups/marks.py",
        before="await store.newest_ms(tx, until_ms=noted // 1000)",
        after="await store.newest_ms(tx)",
        tests=(f"{_MARKS}::test_orders_whose_jobs_are_lost_are_given_again",),
    ),
    Mutation(
        "orders-with-jobs-given-again",
        _MECHANISM,
        "After a restore of the job tables every picture in progress is downloaded twice.",
        f"{PICTURES}/app/restores/check_states.py",
        before="if unknown.issuperset(keys):",
        after="if keys:",
        tests=(f"{_MARKS}::test_orders_whose_jobs_are_lost_are_given_again",),
    ),
    Mutation(
        "lost-orders-awaited",
        _MECHANISM,
        "A picture with a lost order is downloaded only after an hour.",
        f"{PICTURES}/domain/lifecycle/lifecycle.py",
        before="                holding.ordered_at = None\n",
        after="                pass\n",
        tests=(
            f"{PICTURES_TESTS}/unit/domain/lifecycle/test_lifecycle.py::test_a_lost_order_is_given_again_under_a_higher_number",
        ),
    ),
    Mutation(
        "backup-with-marks-of-another-database",
        _MECHANISM,
        "A restored backup has old marks, so it counts as a restore of single tables.",
        f"{PICTURES}/store/backups/backup_columns.py",
        before=" and column.name != MARK",
        after="",
        tests=(f"{_MARKS}::test_backups_carry_no_marks_as_these_belong_to_one_database",),
    ),
    Mutation(
        "marks-sought-among-all-rows",
        _MECHANISM,
        "Every few seconds whole tables are scanned for three rows, until they are analyzed.",
        f"{PICTURES}/store/backups/marks.py",
        before="    await forbid_scans(tx)\n",
        after="",
        tests=(f"{_MARKS}::test_marks_move_without_a_look_at_all_rows",),
    ),
    Mutation(
        "positions-of-another-restore-forgotten",
        _MECHANISM,
        "A second restored table counts as repaired while events of the first restore are still applied.",
        _NOTICE,
        before="targets = await marks.list_targets(tx, self.group)",
        after="targets = await marks.list_positions(tx, self.group)",
        tests=(f"{_MARKS}::test_events_since_the_mark_are_applied_again",),
    ),
)
