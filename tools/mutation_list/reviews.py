"""Reviews by people."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import CLEANWEB, COMMON, MODERATION_TESTS

_REVIEW_PAGE: Final = "services/cleanweb/tests/integration/test_review_page.py"

MUTATIONS: Final = (
    Mutation(
        "reviews-under-any-name",
        "Reviews by people",
        "Whoever has a reviewer's token reviews under any name, and so agrees with themselves.",
        f"{COMMON}/rpc/own_names.py",
        before="and reviewer != call.caller:",
        after="and not reviewer:",
        tests=(
            f"{_REVIEW_PAGE}::test_two_that_agree_are_two_people",
            f"{MODERATION_TESTS}/integration/decisions/test_appeals.py::test_whoever_has_a_token_decides_under_its_name",
        ),
    ),
    Mutation(
        "reviews-taken-from-others",
        "Reviews by people",
        "A reviewer gives back a text that another one has.",
        f"{CLEANWEB}/store/reviews.sql",
        before="WHERE review_id = %(review_id)s AND leased_by = %(reviewer)s",
        after="WHERE review_id = %(review_id)s AND %(reviewer)s::text IS NOT NULL",
        tests=(f"{_REVIEW_PAGE}::test_a_text_is_with_one_reviewer_until_it_is_given_back",),
    ),
    Mutation(
        "reviews-unescaped-text",
        "Reviews by people",
        "A text stands in the page as it came.",
        f"{CLEANWEB}/http/reviews/rendering.py",
        before="escaped = {key: escape(str(value)) for",
        after="escaped = {key: str(value) for",
        tests=(f"{_REVIEW_PAGE}::test_a_hostile_text_is_shown_as_text",),
    ),
)
