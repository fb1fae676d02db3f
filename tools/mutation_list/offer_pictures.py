"""Pictures of offers: requests, results and reports of the offers service."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import OFFERS, OFFERS_TESTS, PROCESSOR, PROCESSOR_TESTS

_MECHANISM: Final = "Pictures of offers"
_DOMAIN: Final = f"{OFFERS}/domain/pictures.py"
_TESTS: Final = f"{OFFERS_TESTS}/pictures/test_pictures.py"
_CATCH_UP: Final = f"{OFFERS}/jobs/request_pictures.py"
_CATCH_UP_TESTS: Final = f"{OFFERS_TESTS}/pictures/test_request_pictures.py"

MUTATIONS: Final = (
    Mutation(
        "older-result-shown",
        _MECHANISM,
        "A late result replaces a newer one.",
        _DOMAIN,
        before="result.attempt <= known.attempt)",
        after="result.attempt == known.attempt)",
        tests=(f"{_TESTS}::test_the_newest_attempt_holds",),
    ),
    Mutation(
        "reload-requests-again",
        _MECHANISM,
        "Each load requests all its pictures, including stored ones.",
        _DOMAIN,
        before="requested = [url for url in wanted if url not in known]",
        after="requested = wanted",
        tests=(f"{_TESTS}::test_each_link_is_requested_once_when_a_load_brings_it",),
    ),
    Mutation(
        "returned-offer-trusts-old-addresses",
        _MECHANISM,
        "An offer that exists again shows old addresses, whose pictures may be deleted.",
        f"{OFFERS}/domain/effects.py",
        before="before.pictures if before is not None and before.exists else None",
        after="before.pictures if before is not None else None",
        tests=(f"{_TESTS}::test_an_offer_that_comes_back_beside_a_patch_requests_everything_anew",),
    ),
    Mutation(
        "late-failure-without-its-line",
        _MECHANISM,
        "A late failure of a picture lacks the line of its offer in the file.",
        _DOMAIN,
        before="        ordinal=known.ordinal,\n        line=known.line,\n",
        after="",
        tests=(f"{_TESTS}::test_a_failure_names_the_line_in_the_file_that_brought_the_link",),
    ),
    Mutation(
        "line-of-another-file",
        _MECHANISM,
        "A late error of a load has the line of an earlier file.",
        f"{OFFERS}/store/sweeping.sql",
        before="SET origin = 'MANUAL', last_task_id = %(task)s, last_ordinal = 0, last_line = 0,",
        after="SET origin = 'MANUAL', last_task_id = %(task)s,",
        tests=(f"{OFFERS_TESTS}/texts/test_texts.py::test_a_late_refusal_of_what_a_load_lacks_names_no_line",),
    ),
    Mutation(
        "picture-of-another-namespace-believed",
        _MECHANISM,
        "A result of another namespace of pictures becomes the address of an offer's picture.",
        f"{OFFERS}/app/pictures/keep_pictures.py",
        before="if reference is None or result.namespace != PICTURE_NAMESPACE:",
        after="if reference is None:",
        tests=(f"{_TESTS}::test_results_for_others_change_nothing",),
    ),
    Mutation(
        "stored-picture-not-published",
        _MECHANISM,
        "A stored picture is not published, and the document keeps the original link.",
        f"{OFFERS}/store/picturing.sql",
        before="CASE WHEN n.is_shown\n",
        after="CASE WHEN false\n",
        tests=(f"{_TESTS}::test_a_stored_picture_takes_the_place_of_its_link_in_the_document",),
    ),
    Mutation(
        "failure-told-at-each-attempt",
        _MECHANISM,
        "A load gets the same failure at each attempt.",
        _DOMAIN,
        before=" and not _fails_alike(known, new)",
        after="",
        tests=(f"{_TESTS}::test_a_failure_is_told_once_to_the_load_that_brought_the_link",),
    ),
    Mutation(
        "requested-outside-of-the-transaction",
        _MECHANISM,
        "A picture is recorded as requested, and its request is lost.",
        f"{OFFERS}/app/request_again.py",
        before="                await self._outbox.put(tx, await self.request(tx, namespace, external_ids, "
        "wait_s=self._wait_s))\n",
        after="                made = await self.request(tx, namespace, external_ids, wait_s=self._wait_s)\n"
        "            async with self._database.transaction() as tx:\n"
        "                await self._outbox.put(tx, made)\n",
        tests=(f"{_TESTS}::test_what_is_requested_again_is_still_due_where_the_request_is_not_kept",),
    ),
    Mutation(
        "older-offers-requested-twice",
        _MECHANISM,
        "Each pass requests the pictures of all offers again.",
        f"{OFFERS}/store/picturing.sql",
        before="WHEN pictures IS NULL AND pictures_requested_at IS NULL AND status <> 'REMOVED' THEN",
        after="WHEN status <> 'REMOVED' THEN",
        tests=(f"{_CATCH_UP_TESTS}::test_each_offer_from_before_is_requested_once",),
    ),
    Mutation(
        "lost-results-not-requested-again",
        _MECHANISM,
        "Results that Kafka removed before offers read them are skipped, and the pictures are not requested again.",
        f"{OFFERS}/parts/consuming.py",
        before="with_effect=request_again if settings.pictures else None",
        after="with_effect=None",
        tests=(f"{OFFERS_TESTS}/test_service.py::test_a_load_goes_through_while_the_receiver_is_away",),
    ),
    Mutation(
        "removed-offers-request-pictures",
        _MECHANISM,
        "Pictures of removed offers are downloaded.",
        f"{OFFERS}/store/picturing.sql",
        before="pictures_requested_at IS NULL AND status <> 'REMOVED' THEN",
        after="pictures_requested_at IS NULL THEN",
        tests=(f"{_CATCH_UP_TESTS}::test_removed_offers_request_nothing",),
    ),
    Mutation(
        "big-seller-goes-first",
        _MECHANISM,
        "All pictures of a seller with a million old offers are requested before those of other sellers.",
        _CATCH_UP,
        before="                    raise Snooze((progress.processed - before) / self.rate)\n",
        after="                    before = progress.processed\n",
        tests=(
            f"{_CATCH_UP_TESTS}::test_a_seller_with_many_offers_lets_the_others_pass",
            f"{_CATCH_UP_TESTS}::test_the_rate_of_a_seller_is_kept",
        ),
    ),
    Mutation(
        "late-errors-without-limit",
        _MECHANISM,
        "Each of millions of failed pictures has a row.",
        f"{PROCESSOR}/store/results.sql",
        before="WHERE fresh.moves OR fresh.rank <= room.rows_left",
        after="WHERE true",
        tests=(
            f"{PROCESSOR_TESTS}/runs/test_late_results.py::test_pictures_without_number_are_counted_and_few_are_kept",
        ),
    ),
    Mutation(
        "late-refusal-not-noted",
        _MECHANISM,
        "A repeated refusal after many failed pictures counts for two offers.",
        f"{PROCESSOR}/store/results.sql",
        before="WHERE fresh.moves OR fresh.rank <= room.rows_left",
        after="WHERE fresh.rank <= room.rows_left",
        tests=(
            f"{PROCESSOR_TESTS}/runs/test_late_results.py::test_pictures_without_number_are_counted_and_few_are_kept",
        ),
    ),
)
