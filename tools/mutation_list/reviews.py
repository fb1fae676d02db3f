"""Reviews by people."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import CLEANWEB, COMMON, MODERATION_TESTS

_EQUAL_TEXTS: Final = "services/cleanweb/tests/integration/test_equal_texts.py"
_LEASES: Final = "services/cleanweb/tests/integration/test_leases.py"
_REVIEW_PAGE: Final = "services/cleanweb/tests/integration/test_review_page.py"
_RESTORES: Final = (
    "services/cleanweb/tests/integration/test_restores.py::test_each_text_gets_its_verdicts_and_nothing_is_left_over"
)

MUTATIONS: Final = (
    Mutation(
        "reviews-under-any-name",
        "Reviews by people",
        "The holder of a reviewer's token can review under any name, and so agree with themselves.",
        f"{COMMON}/rpc/own_names.py",
        before="and name != person_name(call.caller):",
        after="and not name:",
        tests=(
            f"{_REVIEW_PAGE}::test_two_that_agree_are_two_people",
            f"{MODERATION_TESTS}/integration/decisions/test_appeals.py::test_whoever_has_a_token_decides_under_its_name",
        ),
    ),
    Mutation(
        "reviews-taken-from-others",
        "Reviews by people",
        "A reviewer can return a text that another reviewer holds.",
        f"{CLEANWEB}/store/reviews.sql",
        before="WHERE review_id = %(review_id)s AND leased_by = ANY (%(spellings)s::text[])",
        after="WHERE review_id = %(review_id)s AND %(spellings)s::text[] IS NOT NULL",
        tests=(f"{_REVIEW_PAGE}::test_a_text_is_with_one_reviewer_until_it_is_given_back",),
    ),
    Mutation(
        "reviews-held-by-the-page",
        "Reviews by people",
        "A reviewer with thirty open pages holds thirty texts.",
        f"{CLEANWEB}/store/reviews.py",
        before='await tx.execute(_SQL["end_leases"], ',
        after='await tx.execute("SELECT %(review_id)s", ',
        tests=(f"{_LEASES}::test_thirty_open_pages_hold_one_text",),
    ),
    Mutation(
        "reviews-claimed-at-once",
        "Reviews by people",
        "Pages that a reviewer opens at the same time each hold a text.",
        f"{CLEANWEB}/store/reviews.py",
        before='    await tx.execute(_SQL["lock_reviewer"], parameters)\n',
        after="",
        tests=(f"{_LEASES}::test_pages_that_are_opened_at_once_hold_one_text",),
    ),
    Mutation(
        "opinions-without-a-lease",
        "Reviews by people",
        "An opinion about a review that was never claimed is accepted from anyone who knows its number.",
        f"{CLEANWEB}/app/submit_opinion.py",
        before="    if review.leased_by is not None and person_name(review.leased_by) == reviewer:",
        after="    if review.leased_by is None or person_name(review.leased_by) == reviewer:",
        tests=(f"{_LEASES}::test_an_opinion_needs_a_lease",),
    ),
    Mutation(
        "second-opinions-counted",
        "Reviews by people",
        "A second opinion of a reviewer counts as that of another reviewer.",
        f"{CLEANWEB}/app/submit_opinion.py",
        before="if any(person_name(opinion.reviewer) == reviewer for opinion in opinions):",
        after="if any(not opinion.reviewer for opinion in opinions):",
        tests=(
            f"{_LEASES}::test_a_second_opinion_of_a_reviewer_changes_nothing",
            f"{_LEASES}::test_names_as_earlier_versions_stored_them_are_the_same_people",
        ),
    ),
    Mutation(
        "reviews-for-each-key",
        "Reviews by people",
        "Eight equal texts need sixteen reviews.",
        f"{CLEANWEB}/store/reviews.sql",
        before="                  WHERE o.cache_key = q.cache_key AND o.ended_at IS NULL)",
        after="                  WHERE o.request_id = q.request_id)",
        tests=(f"{_EQUAL_TEXTS}::test_eight_equal_points_cost_two_opinions_a_project",),
    ),
    Mutation(
        "reviews-opened-at-once",
        "Reviews by people",
        "Equal texts that arrive at the same time each get a review.",
        f"{CLEANWEB}/app/judge_text.py",
        before="                await reviews.lock_texts(tx, reviewed)\n",
        after="",
        tests=(f"{_EQUAL_TEXTS}::test_eight_equal_points_cost_two_opinions_a_project",),
    ),
    Mutation(
        "callback-for-the-first-key-alone",
        "Reviews by people",
        "Only the first of several equal texts gets the verdicts of its review.",
        f"{CLEANWEB}/app/submit_opinion.py",
        before="in await reviews.end_requests(tx, request.cache_key, reviewed):",
        after="in (await reviews.end_requests(tx, request.cache_key, reviewed))[:1]:",
        tests=(f"{_EQUAL_TEXTS}::test_eight_equal_points_cost_two_opinions_a_project",),
    ),
    Mutation(
        "reviews-shared-by-kinds",
        "Reviews by people",
        "A point shares the review of an offer, which does not ask whether it is about the road.",
        f"{CLEANWEB}/app/judge_text.py",
        before='_hash("\\0".join((*projects, " ".join(text.casefold().split()))))',
        after='_hash(" ".join(text.casefold().split()))',
        tests=(f"{_EQUAL_TEXTS}::test_kinds_and_regions_share_nothing",),
    ),
    Mutation(
        "reviews-kept-for-ever",
        "Reviews by people",
        "Verdicts of reviewers about an equal text never expire.",
        f"{CLEANWEB}/store/reviews.sql",
        before=" AND stored_at > clock_timestamp() - %(age_s)s * interval '1 second'",
        after=" AND %(age_s)s IS NOT NULL",
        tests=(f"{_EQUAL_TEXTS}::test_kept_reviews_age_out",),
    ),
    Mutation(
        "reviews-closed-for-every-key",
        "Reviews by people",
        "A text that needs no verdict closes the review that an equal text needs.",
        f"{CLEANWEB}/store/reviews.py",
        before='        await tx.execute(_SQL["pass_reviews"], {"request_id": request_id})\n',
        after="        pass\n",
        tests=(f"{_EQUAL_TEXTS}::test_a_review_continues_while_an_equal_text_needs_it",),
    ),
    Mutation(
        "reviews-never-closed",
        "Reviews by people",
        "Reviewers get texts that no longer need a verdict.",
        f"{CLEANWEB}/store/reviews.py",
        before='    await tx.execute(_SQL["close_reviews"], {"request_ids": [request_id for request_id, _ in rows]})\n',
        after="",
        tests=(f"{_EQUAL_TEXTS}::test_a_closed_text_is_shown_to_nobody_and_called_back_to_nobody",),
    ),
    Mutation(
        "reviews-unescaped-text",
        "Reviews by people",
        "A text appears in the page without escaping.",
        f"{COMMON}/http/pages/templates.py",
        before="escaped = {key: escape(str(value)) for",
        after="escaped = {key: str(value) for",
        tests=(f"{_REVIEW_PAGE}::test_a_hostile_text_is_shown_as_text",),
    ),
    Mutation(
        "lost-reviews-stay-lost",
        "Reviews by people",
        "A text whose reviews a restore lost waits for ever, even if it is requested again.",
        f"{CLEANWEB}/store/reviews.py",
        before='    await tx.execute(_SQL["open_request"], parameters)\n',
        after='    if not (await tx.execute(_SQL["open_request"], parameters)).rowcount:\n        return False\n',
        tests=(f"{_RESTORES}[reviews, opinions]",),
    ),
    Mutation(
        "callbacks-without-jobs-stay",
        "Reviews by people",
        "A callback whose job a restore lost is never delivered.",
        f"{CLEANWEB}/app/resume_callbacks.py",
        before="            for row in page:\n",
        after="            for row in page[:0]:\n",
        tests=(f"{_RESTORES}[jobs]",),
    ),
)
