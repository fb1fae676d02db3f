"""Reviews that moderation closes."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import MODERATION, MODERATION_TESTS, OFFERS, OFFERS_TESTS

_CLOSING: Final = f"{MODERATION_TESTS}/integration/judging/test_closing.py"
_REMOVED: Final = (
    f"{OFFERS_TESTS}/texts/test_texts.py::test_moderation_learns_which_offers_were_removed_while_their_texts_waited"
)

MUTATIONS: Final = (
    Mutation(
        "changed-texts-stay-with-people",
        "Reviews by people",
        "Reviewers get a text that its seller has changed meanwhile.",
        f"{MODERATION}/store/offer_texts.sql",
        before="    FROM replaced r\n    JOIN put USING (subject_key)\n",
        after="    FROM replaced r\n    JOIN put USING (subject_key)\n    WHERE false\n",
        tests=(
            f"{_CLOSING}::test_a_text_that_is_changed_while_it_waits_is_closed",
            "tests/contract/moderation/test_moderation_cleanweb.py::test_no_review_is_left_that_nobody_needs",
        ),
    ),
    Mutation(
        "late-requests-stay-with-people",
        "Reviews by people",
        "Reviewers get a text that was changed during its request.",
        f"{MODERATION}/store/subjects.sql",
        before="WHERE sent_key NOT IN (SELECT sent_key FROM left_texts)\n",
        after="WHERE sent_key IN (SELECT sent_key FROM left_texts WHERE false)\n",
        tests=(f"{_CLOSING}::test_a_response_about_an_earlier_text_closes_its_review",),
    ),
    Mutation(
        "decided-texts-stay-with-people",
        "Reviews by people",
        "Reviewers get a text that has been decided in another way.",
        f"{MODERATION}/store/decisions.sql",
        before="    WHERE m.is_applied AND s.is_with_people\n",
        after="    WHERE m.is_applied AND s.is_with_people AND false\n",
        tests=(f"{_CLOSING}::test_a_text_that_is_decided_otherwise_is_closed",),
    ),
    Mutation(
        "removed-points-stay-with-people",
        "Reviews by people",
        "Reviewers get the texts of a removed point, which are requested for ever.",
        f"{MODERATION}/app/points/remove_point.py",
        before="        await closings.stop_texts(tx, point_id)\n",
        after="",
        tests=(f"{_CLOSING}::test_a_removed_point_is_closed_and_requested_no_more",),
    ),
    Mutation(
        "closings-of-shared-reviews",
        "Reviews by people",
        "A changed text closes the review that an equal waiting text needs.",
        f"{MODERATION}/store/closings.sql",
        before="s.cache_key = d.cache_key AND s.status = 'PENDING' AND",
        after="s.cache_key = d.cache_key AND s.status = 'NONE' AND",
        tests=(f"{_CLOSING}::test_an_equal_text_that_waits_keeps_the_reviews",),
    ),
    Mutation(
        "closings-called-once",
        "Reviews by people",
        "A review that a late request or a restore reopens is never closed.",
        f"{MODERATION}/store/closings.sql",
        before="SET due_at = clock_timestamp() + greatest(clock_timestamp() - c.noted_at,",
        after="SET due_at = 'infinity' + greatest(clock_timestamp() - c.noted_at,",
        tests=(f"{_CLOSING}::test_keys_are_closed_in_batches_and_again_later",),
    ),
    Mutation(
        "closings-lost-by-a-failed-call",
        "Reviews by people",
        "A failed call counts as successful.",
        f"{MODERATION}/clients/verdict_service.py",
        before='    return CloseOutcome.FAILED, "no result"\n',
        after='    return CloseOutcome.CLOSED, "no result"\n',
        tests=(f"{_CLOSING}::test_a_call_that_fails_is_made_later",),
    ),
    Mutation(
        "closings-of-a-service-without-the-method",
        "Reviews by people",
        "A verdict service without the method `close` gets as many calls of it as one with the method.",
        f"{MODERATION}/app/judging/close_reviews.py",
        before="        if outcome is CloseOutcome.UNKNOWN:\n",
        after="        if outcome is CloseOutcome.CLOSED:\n",
        tests=(f"{_CLOSING}::test_a_call_that_fails_is_made_later",),
    ),
    Mutation(
        "removed-offers-stay-with-people",
        "Reviews by people",
        "Reviewers get the text of a removed offer, which is requested for ever.",
        f"{MODERATION}/app/judging/take_offer_texts.py",
        before="            await closings.remove_offer_texts(tx, gone)\n",
        after="",
        tests=(f"{_CLOSING}::test_the_text_of_a_removed_offer_is_closed_and_requested_no_more",),
    ),
    Mutation(
        "old-removals-of-offers-that-are-back",
        "Reviews by people",
        "A repeated removal removes the text of an offer that exists again.",
        f"{MODERATION}/store/closings.sql",
        before=" AND s.content_version <= r.content_version\n",
        after="\n",
        tests=(f"{_CLOSING}::test_the_text_of_a_removed_offer_is_closed_and_requested_no_more",),
    ),
    Mutation(
        "removals-before-requests-of-a-poll",
        "Reviews by people",
        "A removal takes precedence over a later request in the same transaction.",
        f"{MODERATION}/app/judging/take_offer_texts.py",
        before="if found[0].content_version > removed.get(key, -1)}",
        after="if key not in removed}",
        tests=(f"{_CLOSING}::test_the_text_of_a_removed_offer_is_closed_and_requested_no_more",),
    ),
    Mutation(
        "removals-of-offers-not-reported",
        "Reviews by people",
        "Moderation is not notified of the removal of an offer whose text waits.",
        f"{OFFERS}/app/texts/request_texts.py",
        before="            if row.content is None\n",
        after="            if row.content is None and False\n",
        tests=(_REMOVED,),
    ),
    Mutation(
        "removals-of-offers-reported-late",
        "Reviews by people",
        "The removal of an offer is reported only when its text would be requested again.",
        f"{OFFERS}/store/sweeping.sql",
        before="CASE WHEN text_requested_at IS NOT NULL THEN '-infinity'::timestamptz END,",
        after="text_requested_at,",
        tests=(_REMOVED,),
    ),
)
