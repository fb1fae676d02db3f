"""Pictures."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import PICTURES, PICTURES_TESTS

_LIFE: Final = f"{PICTURES}/domain/lifecycle/lifecycle.py"
_LIFE_TESTS: Final = f"{PICTURES_TESTS}/unit/domain/lifecycle/test_lifecycle.py"
_COPYING: Final = f"{PICTURES_TESTS}/integration/files/test_copying.py"
_PROCESSING: Final = f"{PICTURES_TESTS}/integration/events/test_processing.py"
_BYTES: Final = f"{PICTURES_TESTS}/integration/files/test_byte_histories.py"
_METRICS: Final = f"{PICTURES_TESTS}/integration/test_metrics.py"
_STEPS: Final = f"{PICTURES_TESTS}/integration/keys/test_rekeying_steps.py::test_nothing_is_lost_whatever_dies"
_MOVING: Final = f"{PICTURES_TESTS}/unit/domain/urls/test_moving.py"
_SIMILARITY: Final = f"{PICTURES_TESTS}/unit/domain/test_similarity.py"
_LIKENESS: Final = f"{PICTURES_TESTS}/unit/domain/test_likeness.py"
_SIMILAR: Final = f"{PICTURES_TESTS}/integration/similar"
_REFRESHING: Final = f"{PICTURES_TESTS}/unit/domain/lifecycle/test_refreshing.py"
_RETRIES: Final = f"{PICTURES_TESTS}/unit/domain/lifecycle/test_retries.py"
_GIVEN_UP: Final = f"{PICTURES_TESTS}/integration/jobs/test_given_up.py"
_LOOKING: Final = f"{PICTURES_TESTS}/integration/states/test_look_again.py"
_ORDERS: Final = f"{PICTURES}/domain/lifecycle/orders.py"
_ORPHANS: Final = f"{PICTURES_TESTS}/integration/files/test_check_stored.py"
_UNFINISHED: Final = f"{PICTURES_TESTS}/integration/files/test_unfinished_downloads.py"
_LOST: Final = f"{PICTURES_TESTS}/integration/jobs/test_lost_claims.py"
_POOL: Final = f"{PICTURES_TESTS}/integration/decoding/test_pool.py"

MUTATIONS: Final = (
    Mutation(
        "decoders-without-a-watch",
        "Pictures",
        "A decoder that does not respond blocks pictures, and no page reports it.",
        f"{PICTURES}/decoding/processes/process.py",
        before="                with self._child.call():\n                    self._write",
        after="                if True:\n                    self._write",
        tests=(f"{_POOL}::test_a_process_that_does_not_respond_is_named",),
    ),
    Mutation(
        "stopped-decoder-refuses-its-picture",
        "Pictures",
        "A picture in a decoder that was stopped by a signal is refused for ever as too slow.",
        f"{PICTURES}/decoding/processes/process.py",
        before="raise (ProcessKilled() if is_stopped else self._timed_out()) from None",
        after="raise self._timed_out() from None",
        tests=(f"{_POOL}::test_a_process_that_stands_still_is_ended_and_costs_no_picture",),
    ),
    Mutation(
        "downloads-shared-by-host",
        "Pictures",
        "A seller with pictures on hundreds of hosts has hundreds of shares of the downloads.",
        f"{PICTURES}/jobs/download.py",
        before="            partition_key=order.recipient or None,",
        after="            partition_key=host_of(order.url),",
        tests=(f"{PICTURES_TESTS}/integration/hosts/test_shares.py::test_a_recipient_with_many_hosts_has_one_share",),
    ),
    Mutation(
        "downloads-without-places",
        "Pictures",
        "The pictures of a slow host take all download slots of their seller.",
        f"{PICTURES}/jobs/download.py",
        before="            lock_key=f",
        after="            producer=f",
        tests=(f"{PICTURES_TESTS}/integration/hosts/test_shares.py::test_a_slow_host_holds_few_downloads",),
    ),
    Mutation(
        "position-before-its-events",
        "Pictures",
        "The resharder moves its position before Kafka has its events, which are then lost.",
        f"{PICTURES}/consumers/resharder.py",
        before="        await send_messages(self._producer, [*made.events, *made.refusals])\n",
        after="        self.late = __import__('asyncio').ensure_future("
        "send_messages(self._producer, [*made.events, *made.refusals]))\n",
        tests=(f"{PICTURES_TESTS}/integration/keys/test_resharder.py::test_a_failed_send_is_repeated_as_a_whole",),
    ),
    Mutation(
        "download-for-each-request",
        "Pictures",
        "A URL in download is downloaded again for each request.",
        _ORDERS,
        before="    if holding.is_open(lost_before) or state.open_download(lost_before) is not None:\n        return\n",
        after="    holding.ordered_at = None\n",
        tests=(f"{_LIFE_TESTS}::test_an_unknown_picture_is_ordered_once",),
    ),
    Mutation(
        "file-before-its-reference",
        "Pictures",
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
        tests=(f"{_BYTES}::test_what_is_held_can_be_read_and_nothing_is_left_over",),
    ),
    Mutation(
        "picture-refused-by-a-busy-machine",
        "Pictures",
        "A picture counts as too slow although its process got no CPU.",
        f"{PICTURES}/decoding/processes/process.py",
        before="_CLOCK_TIMES: Final = 6",
        after="_CLOCK_TIMES: Final = 1",
        tests=(f"{_POOL}::test_a_picture_is_not_refused_because_the_machine_is_busy",),
    ),
    Mutation(
        "download-of-a-lost-claim-stored",
        "Pictures",
        "A process that paused past its lease stores a picture that no state has, and it is never deleted.",
        f"{PICTURES}/jobs/download.py",
        before="await download(order, begin=ctx.guarded_transaction)",
        after="await download(order)",
        tests=(f"{_LOST}::test_a_download_whose_claim_is_lost_stores_nothing",),
    ),
    Mutation(
        "copy-of-a-lost-claim-stored",
        "Pictures",
        "A process that paused past its lease makes a copy that no state has, and it is never deleted.",
        f"{PICTURES}/jobs/resize.py",
        before="await resize(order, begin=ctx.guarded_transaction)",
        after="await resize(order)",
        tests=(f"{_LOST}::test_a_copy_whose_claim_is_lost_stores_nothing",),
    ),
    Mutation(
        "older-attempt-wins",
        "Pictures",
        "A late result of an older attempt replaces a newer one.",
        _LIFE,
        before="        if held is not None and attempt <= holding.info_attempt:\n",
        after="        if held is not None and attempt == holding.info_attempt:\n",
        tests=(f"{_LIFE_TESTS}::test_the_older_attempt_never_wins",),
    ),
    Mutation(
        "old-key-ends-before-its-copies",
        "Pictures",
        "An obsolete key ends before the new key has its pictures, which are downloaded again.",
        _LIFE,
        before="        if lacks_mark or not event.namespaces.issuperset(info.namespace for info in held):\n",
        after="        if lacks_mark:\n",
        tests=(f"{_MOVING}::test_a_key_stays_until_the_other_one_has_all", _STEPS),
    ),
    Mutation(
        "requests-forgotten-with-their-key",
        "Pictures",
        "Requests that wait under an obsolete key are never settled.",
        f"{PICTURES}/app/events/process_events.py",
        before="*request_messages(repeated), ",
        after="",
        tests=(_STEPS,),
    ),
    Mutation(
        "address-ends-with-its-key",
        "Pictures",
        "Published addresses become invalid once the rules make another key.",
        f"{PICTURES}/app/files/copy_picture.py",
        before="if not (order.moved_to and await",
        after="if not (not order.attempt and await",
        tests=(_STEPS,),
    ),
    Mutation(
        "keys-of-older-rules-unused",
        "Pictures",
        "After a change of the rules, comparisons delete pictures that are stored under the old keys.",
        f"{PICTURES}/app/states/compare_pictures.py",
        before="rules = history if history[-1:] == [current] else [*history, current]",
        after="rules = [current]",
        tests=(f"{PICTURES_TESTS}/integration/states/test_comparing.py::test_keys_of_older_rules_count_as_used",),
    ),
    Mutation(
        "rules-watched-by-one-role",
        "Pictures",
        "A process without the role that watches the rules makes keys with the rules of its start.",
        f"{PICTURES}/parts/upkeep.py",
        before=", is_everywhere=True)",
        after=")",
        tests=(
            f"{PICTURES_TESTS}/integration/keys/test_watching_rules.py"
            "::test_a_process_with_one_role_takes_changed_rules[serve]",
        ),
    ),
    Mutation(
        "notice-under-the-new-key",
        "Pictures",
        "A notice about an old key reaches the new one: unused pictures are deleted there, and the old key stays.",
        f"{PICTURES}/app/events/make_events.py",
        before="key_or_fault(url, None if is_exact else self.rules)",
        after="key_or_fault(url, self.rules)",
        tests=(_STEPS,),
    ),
    Mutation(
        "second-comparison-at-any-time",
        "Pictures",
        "Two comparisons in quick succession, or a repeated one, delete a picture.",
        _LIFE,
        before="        elif event.at >= state.delete_mark_at + self._rules.delete_after:\n",
        after="        else:\n",
        tests=(
            f"{_LIFE_TESTS}::test_repeated_and_late_comparisons_count_once",
            f"{_PROCESSING}::test_two_comparisons_delete_state_requests_and_picture",
        ),
    ),
    Mutation(
        "result-of-an-earlier-life-taken",
        "Pictures",
        "A result from before a deletion is accepted after it, although its files are removed.",
        _LIFE,
        before=" or event.attempt < holding.first_attempt:\n",
        after=":\n",
        tests=(f"{_LIFE_TESTS}::test_a_result_of_an_earlier_life_is_deleted_too",),
    ),
    Mutation(
        "known-picture-writes-its-state",
        "Pictures",
        "Each request of a stored picture writes a row.",
        _LIFE,
        before="            state.note_use(request.at)\n            self._effects",
        after="            state.requested_at = request.at\n            self._effects",
        tests=(
            f"{_LIFE_TESTS}::test_a_known_picture_is_settled_and_nothing_is_written",
            f"{_PROCESSING}::test_a_known_picture_is_settled_and_no_state_is_written",
        ),
    ),
    Mutation(
        "deletion-without-its-attempt",
        "Pictures",
        "A late order to delete removes a picture that was stored again meanwhile.",
        f"{PICTURES}/store/files/stored.sql",
        before=" AND attempt <= %(attempt)s\nRETURNING",
        after=" AND %(attempt)s > 0\nRETURNING",
        tests=(
            f"{_COPYING}::test_an_older_order_does_not_delete_what_was_stored_again",
            f"{_BYTES}::test_what_is_held_can_be_read_and_nothing_is_left_over",
        ),
    ),
    Mutation(
        "deletion-counted-as-cleared",
        "Pictures",
        "A deleted unused picture counts as one that a request has kept.",
        f"{PICTURES}/app/events/process_events.py",
        before='"cleared" if life.state is not None else "deleted"',
        after='"cleared"',
        tests=(f"{_METRICS}::test_marks_are_set_cleared_and_end_with_their_picture",),
    ),
    Mutation(
        "killed-process-uncounted",
        "Pictures",
        "No metric counts processes that are killed over pictures.",
        f"{PICTURES}/decoding/processes/observing.py",
        before="if not process.is_usable:",
        after="if process.is_usable:",
        tests=(f"{_METRICS}::test_pictures_and_processes_by_what_became_of_them",),
    ),
    Mutation(
        "similar-by-one-piece",
        "Pictures",
        "Copies of a picture are found only if the first piece of their hash is nearly the same.",
        f"{PICTURES}/domain/similarity.py",
        before="for mask in _masks(share)]",
        after="for mask in _masks(share) if piece == 0]",
        tests=(
            f"{_SIMILARITY}::test_however_the_bits_are_spread_one_piece_is_sought",
            f"{_SIMILAR}/test_similar_pairs.py::test_copies_are_found_and_other_pictures_are_not",
        ),
    ),
    Mutation(
        "similar-a-bit-too-near",
        "Pictures",
        "Some pictures at the allowed distance, or one bit below it, are not found.",
        f"{PICTURES}/domain/similarity.py",
        before="max(distance - _PIECES + 1, 0)",
        after="max(distance - _PIECES, 0)",
        tests=(f"{_SIMILARITY}::test_however_the_bits_are_spread_one_piece_is_sought",),
    ),
    Mutation(
        "symmetrical-drawing-by-chance",
        "Pictures",
        "Bits of a symmetrical drawing are random: a resize or a crop changes them, and copies are not found.",
        f"{PICTURES}/decoding/imaging/hashing.py",
        before="_ASKEW: Final = 0.04",
        after="_ASKEW: Final = 0.0",
        tests=(
            f"{PICTURES_TESTS}/unit/decoding/imaging/test_hashing.py::test_copies_of_symmetrical_drawings_are_near",
        ),
    ),
    Mutation(
        "drawings-by-their-hashes-alone",
        "Pictures",
        "Drawings of different things are listed as copies.",
        f"{PICTURES}/domain/likeness.py",
        before="    apart = dist(one, other)\n",
        after="    return True\n",
        tests=(
            f"{_LIKENESS}::test_drawings_of_other_things_do_not_pass",
            f"{_SIMILAR}/test_similar_rows.py::test_pages_hold_copies_however_many_other_drawings_are_nearer",
        ),
    ),
    Mutation(
        "photographs-by-their-colours",
        "Pictures",
        "A photograph is not found in different light.",
        f"{PICTURES}/domain/likeness.py",
        before="RICH_BITS: Final = 26",
        after="RICH_BITS: Final = 65",
        tests=(f"{_LIKENESS}::test_a_photograph_passes_in_other_light",),
    ),
    Mutation(
        "page-of-one-read",
        "Pictures",
        "A page of copies ends early if many different drawings have closer hashes.",
        f"{PICTURES}/app/states/find_similar.py",
        before="        if len(near) < batch:\n",
        after="        if near or not near:\n",
        tests=(f"{_SIMILAR}/test_similar_rows.py::test_pages_hold_copies_however_many_other_drawings_are_nearer",),
    ),
    Mutation(
        "stored-without-its-key",
        "Pictures",
        "A stored picture is not found until a job has filled its key.",
        f"{PICTURES}/store/files/stored.py",
        before="similarity_key(picture.info.perceptual_hash)",
        after="None",
        tests=(f"{_SIMILAR}/test_similar_rows.py::test_what_is_found_is_what_is_stored_after_concurrent_changes",),
    ),
    Mutation(
        "refresh-before-its-time",
        "Pictures",
        "Each pass requests every stored picture from its host.",
        _ORDERS,
        before="if state.refresh_at is None or now < state.refresh_at:",
        after="if state.refresh_at is None:",
        tests=(f"{_REFRESHING}::test_a_held_picture_is_refreshed_once_its_time_has_come",),
    ),
    Mutation(
        "change-not-reported",
        "Pictures",
        "A picture changes at its host, and offers show the address of the old one, which is deleted.",
        _LIFE,
        before="        if was_withdrawn or (held is not None and is_news(held, info)):",
        after="        if was_withdrawn:",
        tests=(
            f"{_REFRESHING}::test_a_change_goes_to_those_who_know_the_old_one_once",
            f"{_PROCESSING}::test_a_change_is_sent_once_to_each_who_knows_the_old_one",
        ),
    ),
    Mutation(
        "same-bytes-are-news",
        "Pictures",
        "All offers are published again if a host sends a different entity tag for the same picture.",
        f"{PICTURES}/domain/lifecycle/refreshing.py",
        before="return is_other(held, info) or list(held.sizes) != list(info.sizes)",
        after="return held != info",
        tests=(f"{_REFRESHING}::test_the_same_bytes_again_are_no_news",),
    ),
    Mutation(
        "settled-requests-forgotten",
        "Pictures",
        "Recipients of a picture are not notified of its change.",
        f"{PICTURES}/app/events/process_events.py",
        before="    known += [(place[0], request) for place, request in taken if (*place, request.recipient) "
        "not in given_up]\n",
        after="",
        tests=(f"{_PROCESSING}::test_a_change_is_sent_once_to_each_who_knows_the_old_one",),
    ),
    Mutation(
        "held-picture-removed-as-orphan",
        "Pictures",
        "The daily pass removes pictures that offers show.",
        f"{PICTURES}/app/files/check_stored.py",
        before="return held is None or (held.group_id, held.name) != (row.address.group_id, row.address.name)",
        after="return True",
        tests=(f"{_ORPHANS}::test_orphans_go_and_held_and_young_ones_stay",),
    ),
    Mutation(
        "young-picture-removed-as-orphan",
        "Pictures",
        "The daily pass removes a new download before its result arrives.",
        f"{PICTURES}/app/files/check_stored.py",
        before="GRACE_S: Final = 86400.0",
        after="GRACE_S: Final = 0.0",
        tests=(f"{_ORPHANS}::test_orphans_go_and_held_and_young_ones_stay",),
    ),
    Mutation(
        "awaited-picture-removed-as-orphan",
        "Pictures",
        "The daily pass removes a picture whose result is queued for longer than a day.",
        f"{PICTURES}/app/files/check_stored.py",
        before="    if holding.ordered_at is not None:\n        return False\n",
        after="",
        tests=(f"{_ORPHANS}::test_what_a_result_may_be_about_stays_until_it_is_there",),
    ),
    Mutation(
        "forbidden-picture-shown",
        "Pictures",
        "A host forbids the picture in searches by X-Robots-Tag, and it stays.",
        _LIFE,
        before="        if failure.code == NOINDEX:\n",
        after="        if failure.code == '':\n",
        tests=(f"{_REFRESHING}::test_what_its_host_forbids_to_show_is_deleted_and_comes_back_once_it_may",),
    ),
    Mutation(
        "rules-of-a-host-read-by-all",
        "Pictures",
        "Each process and each download fetches the robots.txt of a host.",
        f"{PICTURES}/store/files/robots.sql",
        before="      AND (r.claimed_until IS NULL OR r.claimed_until <= clock_timestamp())\n",
        after="",
        tests=(
            f"{PICTURES_TESTS}/integration/test_clean_up.py"
            "::test_rules_of_hosts_go_that_are_old_and_whoever_fetches_new_ones_does_it_alone",
        ),
    ),
    Mutation(
        "given-up-order-kept-quiet",
        "Pictures",
        "An order that kills its job is repeated soon, and nothing reports it before the third time.",
        f"{PICTURES}/domain/lifecycle/retries.py",
        before="            INTERNAL_ERROR,\n",
        after="",
        tests=(f"{_RETRIES}::test_what_may_pass_is_tried_again_after_the_pauses_of_its_class",),
    ),
    Mutation(
        "full-namespace-tried-as-often",
        "Pictures",
        "Each picture of a full namespace is downloaded every day, until an operator acts.",
        f"{PICTURES}/domain/lifecycle/states.py",
        before="        self.failure = failure\n"
        "        self.retry_at = earliest_attempt(failure, self.failed_attempts, now)",
        after="        self.failure = failure\n        self.retry_at = earliest_attempt(failure, 1, now)",
        tests=(f"{_RETRIES}::test_a_copy_that_fails_is_tried_again_ever_less_often_until_it_is_there",),
    ),
    Mutation(
        "law-forgotten",
        "Pictures",
        "A picture that is withheld by law (451) is requested from its host again and again.",
        f"{PICTURES}/domain/lifecycle/retries.py",
        before="frozenset({410, 451})",
        after="frozenset({410})",
        tests=(f"{_RETRIES}::test_what_will_not_pass_is_tried_again_on_request_alone",),
    ),
    Mutation(
        "due-states-sought-where-they-are-written",
        "Pictures",
        "A scan of all states loads the primary although a replica exists.",
        f"{PICTURES}/jobs/look_again.py",
        before="if self.replica is None:",
        after="if True:",
        tests=(f"{_LOOKING}::test_states_are_sought_on_the_replica_and_notices_written_on_the_primary",),
    ),
    Mutation(
        "first-slice-alone",
        "Pictures",
        "Only the first of many due states are ever retried.",
        f"{PICTURES}/app/states/find_due.py",
        before="    if len(rows) < limit:\n",
        after="    if True:\n",
        tests=(f"{_LOOKING}::test_all_that_is_due_is_found_in_slices_by_runs_that_die_between_two",),
    ),
    Mutation(
        "given-up-download-unreported",
        "Pictures",
        "A download that is given up is not reported, and its recipients wait until the order is repeated.",
        f"{PICTURES}/jobs/download.py",
        before="        await reporter.report_fault(tx, DownloadOrder.FromString(args.message), job)\n",
        after="        return\n",
        tests=(
            f"{_GIVEN_UP}::test_a_download_that_fails_five_times_by_an_unknown_fault_is_reported",
            f"{_GIVEN_UP}::test_a_download_at_which_three_workers_die_is_reported",
        ),
    ),
    Mutation(
        "downloads-outside-of-run-folders",
        "Pictures",
        "The partial downloads of a killed process stay on the disk.",
        f"{PICTURES}/app/files/download_picture.py",
        before='path = folder / "picture"',
        after='path = self._spool_dir / "picture"',
        tests=(f"{_UNFINISHED}::test_files_of_downloads_lie_in_run_folders",),
    ),
)
