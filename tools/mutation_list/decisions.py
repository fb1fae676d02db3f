"""Decisions: appeals, rejudgements, figures, checks."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import CLEANWEB, COMMON, MODERATION, MODERATION_TESTS

_APPEAL_TESTS: Final = f"{MODERATION_TESTS}/integration/decisions/test_appeals.py"
_APPEAL_PAGES: Final = f"{MODERATION_TESTS}/integration/http/test_appeal_pages.py"
_REJUDGING_TESTS: Final = f"{MODERATION_TESTS}/integration/decisions/test_rejudging.py"

MUTATIONS: Final = (
    Mutation(
        "appeal-decided-by-the-first-reviewer",
        "Decisions",
        "The reviewer who refused a text decides the appeal about it.",
        f"{MODERATION}/app/appeals/decide_appeal.py",
        before="if reviewer in map(person_name, await appeals.list_deciders(tx, subject.key, subject.text_hash)):",
        after="if not reviewer:",
        tests=(f"{_APPEAL_TESTS}::test_the_first_reviewer_is_refused",),
    ),
    Mutation(
        "appeal-decided-by-a-reviewer-of-the-verdict-service",
        "Decisions",
        "A reviewer who judged a text for the verdict service decides the appeal about it.",
        f"{MODERATION}/domain/verdicts.py",
        before='_reviewers(item.get("reviewers"))',
        after="()",
        tests=(f"{_APPEAL_TESTS}::test_a_reviewer_of_the_verdict_service_is_refused",),
    ),
    Mutation(
        "appeal-decided-under-another-spelling",
        "Decisions",
        "Reviewers can decide about their own review by writing their name in capitals.",
        f"{COMMON}/rpc/own_names.py",
        before='unicodedata.normalize("NFKC", name).casefold().strip()',
        after="name.strip()",
        tests=(
            f"{_APPEAL_TESTS}::test_nobody_decides_about_their_own_review_or_appeal",
            "services/cleanweb/tests/integration/test_leases.py::test_a_person_has_one_name_in_every_spelling",
        ),
    ),
    Mutation(
        "appeal-decided-by-its-author",
        "Decisions",
        "Authors can decide about their own appeals.",
        f"{MODERATION}/app/appeals/decide_appeal.py",
        before="if person_name(appeal.author_id) == reviewer:",
        after="if not reviewer:",
        tests=(f"{_APPEAL_TESTS}::test_nobody_decides_about_their_own_review_or_appeal",),
    ),
    Mutation(
        "appeal-of-a-stranger",
        "Decisions",
        "A stranger can appeal about a text, and the appeal of its author is refused.",
        f"{MODERATION}/app/appeals/make_appeal.py",
        before="if await appeals.find_author(tx, key) != author_id:",
        after="if await appeals.find_author(tx, key) is None:",
        tests=(f"{_APPEAL_TESTS}::test_only_the_author_or_the_seller_appeals",),
    ),
    Mutation(
        "appeals-of-authors-and-sellers-counted-together",
        "Decisions",
        "The open appeals of a seller count towards the limit of an author with the same id.",
        f"{MODERATION}/store/appeals.sql",
        before="AND (s.kind = 'OFFER') = %(is_seller)s",
        after="AND (s.kind = 'OFFER' OR %(is_seller)s IS NOT NULL)",
        tests=(f"{_APPEAL_TESTS}::test_an_author_has_so_many_open_appeals",),
    ),
    Mutation(
        "appeal-about-a-changed-text",
        "Decisions",
        "An appeal about an earlier text approves the current one.",
        f"{MODERATION}/app/appeals/decide_appeal.py",
        before="or (subject.decision_id, subject.status) != (appeal.decision_id, Status.DISAPPROVED)",
        after="or subject.status is Status.APPROVED",
        tests=(f"{_APPEAL_TESTS}::test_an_appeal_about_a_text_that_changed_since_decides_nothing",),
    ),
    Mutation(
        "dry-run-that-changes",
        "Decisions",
        "A dry run of a rejudgement changes the texts that it counts.",
        f"{MODERATION}/app/decisions/rejudge_texts.py",
        before="if found and not is_dry_run:",
        after="if found:",
        tests=(f"{_REJUDGING_TESTS}::test_a_dry_run_counts_what_the_run_then_does",),
    ),
    Mutation(
        "rejudgement-shows-what-was-removed",
        "Decisions",
        "A change of the rules shows a refused point again.",
        f"{MODERATION}/app/decisions/rejudge_texts.py",
        before="(text.status is Status.DISAPPROVED and text.kind is not Kind.OFFER)",
        after="(text.status is Status.DISAPPROVED and text.kind is Kind.COMMENT)",
        tests=(f"{_REJUDGING_TESTS}::test_a_refused_point_stays_removed_whatever_the_rules_say",),
    ),
    Mutation(
        "figures-of-what-was-not-applied",
        "Decisions",
        "Figures include verdicts that were stored but not applied.",
        f"{MODERATION}/store/figures.sql",
        before="WHERE is_applied AND recorded_at",
        after="WHERE recorded_at",
        tests=(f"{MODERATION_TESTS}/integration/decisions/test_figures.py::test_they_equal_a_count_of_the_log",),
    ),
    Mutation(
        "check-with-a-review",
        "Decisions",
        "A text that is only to be checked goes to reviewers.",
        f"{CLEANWEB}/app/judge_text.py",
        before="elif each.text.is_check:",
        after="elif each.text.is_check and not each.text.key:",
        tests=(
            "services/cleanweb/tests/integration/test_reviews.py::test_a_text_that_is_only_checked_opens_no_review",
        ),
    ),
    Mutation(
        "appeal-page-without-a-token",
        "Decisions",
        "The page of an appeal shows texts to visitors who have not signed in.",
        f"{COMMON}/http/pages/guarding.py",
        before="                who = self._admit(request)\n",
        after='                who = "nobody"\n',
        tests=(f"{_APPEAL_PAGES}::test_reviewers_decide_appeals_on_pages",),
    ),
    Mutation(
        "appeal-page-for-any-reviewer",
        "Decisions",
        "The page of an appeal submits decisions under a name that is not the reviewer's.",
        f"{MODERATION}/http/appeals/operations.py",
        before="        reviewer=person_name(request.by),\n",
        after='        reviewer="reviewer",\n',
        tests=(f"{_APPEAL_PAGES}::test_reviewers_decide_appeals_on_pages",),
    ),
)
