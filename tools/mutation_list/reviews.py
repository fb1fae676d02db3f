"""Reviews, callbacks, and appeals."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import CLEANWEB, CLEANWEB_TESTS, COMMON, MODERATION, MODERATION_TESTS

MUTATIONS: Final = (
    Mutation(
        "callbacks-without-order",
        "A verdict arrives after a newer one of its key.",
        f"{CLEANWEB}/store/callbacks.sql",
        before="c.callback_id <= last.callback_id",
        after="c.callback_id = last.callback_id",
        tests=(
            f"{CLEANWEB_TESTS}/integration/test_callbacks.py::test_a_verdict_never_comes_after_a_newer_one_of_its_key",
        ),
    ),
    Mutation(
        "callbacks-without-jobs-stay",
        "A callback whose job a restore lost is never delivered.",
        f"{CLEANWEB}/app/resume_callbacks.py",
        before="            for row in page:\n",
        after="            for row in page[:0]:\n",
        tests=(
            f"{CLEANWEB_TESTS}/integration/test_restores.py"
            "::test_each_text_gets_its_verdicts_and_nothing_is_left_over[jobs]",
        ),
    ),
    Mutation(
        "reviews-under-any-name",
        "The holder of a reviewer's token can review under any name, and so agree with themselves.",
        f"{COMMON}/rpc/own_names.py",
        before="and name != person_name(call.caller):",
        after="and not name:",
        tests=(
            f"{CLEANWEB_TESTS}/integration/test_review_page.py::test_two_that_agree_are_two_people",
            f"{MODERATION_TESTS}/integration/decisions/test_appeals.py"
            "::test_whoever_has_a_token_decides_under_its_name",
        ),
    ),
    Mutation(
        "appeal-decided-by-the-first-reviewer",
        "The reviewer who refused a text decides the appeal about it.",
        f"{MODERATION}/app/appeals/decide_appeal.py",
        before="if reviewer in map(person_name, await appeals.list_deciders(tx, subject.key, subject.text_hash)):",
        after="if not reviewer:",
        tests=(f"{MODERATION_TESTS}/integration/decisions/test_appeals.py::test_the_first_reviewer_is_refused",),
    ),
    Mutation(
        "reviews-unescaped-text",
        "A text appears in the page without escaping.",
        f"{COMMON}/http/pages/templates.py",
        before="escaped = {key: escape(str(value)) for",
        after="escaped = {key: str(value) for",
        tests=(f"{CLEANWEB_TESTS}/integration/test_review_page.py::test_a_hostile_text_is_shown_as_text",),
    ),
    Mutation(
        "callback-for-the-first-key-alone",
        "Only the first of several equal texts gets the verdicts of its review.",
        f"{CLEANWEB}/app/submit_opinion.py",
        before="in await reviews.end_requests(tx, request.cache_key, reviewed):",
        after="in (await reviews.end_requests(tx, request.cache_key, reviewed))[:1]:",
        tests=(
            f"{CLEANWEB_TESTS}/integration/test_equal_texts.py::test_eight_equal_points_cost_two_opinions_a_project",
        ),
    ),
)
