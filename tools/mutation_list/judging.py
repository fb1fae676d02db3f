"""Verdicts and opinions: validity, lifetime and scope."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import CLEANWEB, MODERATION, MODERATION_TESTS

_DECISIONS: Final = f"{MODERATION_TESTS}/integration/decisions"
_JUDGING: Final = f"{MODERATION_TESTS}/integration/judging"
_CLEANWEB_TESTS: Final = "services/cleanweb/tests/integration"

MUTATIONS: Final = (
    Mutation(
        "kept-verdicts-renewed-by-use",
        "Decisions",
        "Verdicts that equal texts use are stored for ever.",
        f"{MODERATION}/app/judging/correct_pending.py",
        before="kept[text.cache_key], keeps=False))",
        after="kept[text.cache_key], keeps=True))",
        tests=(f"{_JUDGING}/test_correcting.py::test_verdicts_are_kept_no_longer_for_being_used",),
    ),
    Mutation(
        "kept-verdicts-of-incomplete-lists",
        "Decisions",
        "A list of verdicts without the end verdict decides about equal texts.",
        f"{MODERATION}/app/decisions/apply_verdicts.py",
        before="if decision.is_applied and item.keeps and item.verdict_list.has_end:",
        after="if decision.is_applied and item.keeps:",
        tests=(f"{_DECISIONS}/test_verdicts.py::test_without_the_end_only_forbidden_verdicts_are_applied",),
    ),
    Mutation(
        "late-responses-put-off-new-texts",
        "Decisions",
        "A late response about an earlier text makes the current text wait for reviewers who never got it.",
        f"{MODERATION}/store/subjects.sql",
        before=" AND s.text_hash = given.text_hash AND s.status = 'PENDING'",
        after=" AND s.status = 'PENDING'",
        tests=(f"{_JUDGING}/test_closing.py::test_a_response_about_an_earlier_text_closes_its_review",),
    ),
    Mutation(
        "refused-texts-come-back",
        "Decisions",
        "A later verdict shows a text that was refused.",
        f"{MODERATION}/domain/decisions.py",
        before="        return NotApplied.ALREADY_DISAPPROVED\n",
        after="        return None\n",
        tests=(f"{_DECISIONS}/test_verdicts.py::test_a_removed_point_stays_removed",),
    ),
    Mutation(
        "older-texts-of-offers-win",
        "Decisions",
        "A text that was sent earlier and arrives later replaces the current one.",
        f"{MODERATION}/store/offer_texts.sql",
        before="    WHERE s.text_hash <> excluded.text_hash AND s.content_version <= excluded.content_version\n",
        after="    WHERE s.text_hash <> excluded.text_hash\n",
        tests=(f"{_DECISIONS}/test_verdicts.py::test_older_and_equal_texts_change_nothing",),
    ),
    Mutation(
        "breaker-probes-at-once",
        "Decisions",
        "A verdict service that fails gets the next request immediately.",
        f"{MODERATION}/clients/breaker.py",
        before="return self._running == 0 and self._clock.monotonic_s() >= self._probe_at_s",
        after="return self._running == 0",
        tests=(
            f"{MODERATION_TESTS}/unit/clients/test_breaker.py::test_a_service_that_is_away_gets_one_request_a_second",
        ),
    ),
    Mutation(
        "appeal-answered-with-another-reviewers-decision",
        "Decisions",
        "A reviewer who decides second gets the response that the decision is theirs.",
        f"{MODERATION}/app/appeals/decide_appeal.py",
        before="if (person_name(row.reviewer), row.status, row.rule) == (reviewer, status, rule):",
        after="if (row.status, row.rule) == (status, rule):",
        tests=(f"{_DECISIONS}/test_appeals.py::test_two_reviewers_at_once_make_one_decision",),
    ),
    Mutation(
        "reviewers-of-kept-verdicts-forgotten",
        "Reviews by people",
        "A reviewer decides the appeal about a text that equals one they reviewed.",
        f"{CLEANWEB}/app/judge_text.py",
        before="(Verdict(name, PEOPLE, reviewers=found.reviewers) for name in found.verdicts)",
        after="(Verdict(name, PEOPLE) for name in found.verdicts)",
        tests=(f"{_CLEANWEB_TESTS}/test_equal_texts.py::test_kept_reviews_age_out",),
    ),
    Mutation(
        "callback-sent-again-for-a-moment",
        "Reviews by people",
        "A callback that an operator sends again has only one attempt.",
        f"{CLEANWEB}/store/callbacks.sql",
        before="UPDATE callbacks SET given_up_at = NULL, sent_from = clock_timestamp()\n",
        after="UPDATE callbacks SET given_up_at = NULL\n",
        tests=(f"{_CLEANWEB_TESTS}/test_callbacks.py::test_a_callback_that_is_sent_again_has_its_whole_time_again",),
    ),
    Mutation(
        "one-of-three-decides",
        "Reviews by people",
        "If three reviewers disagree, the verdict of one reviewer counts.",
        f"{CLEANWEB}/domain/projects.py",
        before="for verdict in named if named.count(verdict) > 1)",
        after="for verdict in named if named.count(verdict) > 0)",
        tests=(f"{_CLEANWEB_TESTS}/test_reviews.py::test_agreement",),
    ),
    Mutation(
        "newest-texts-reviewed-first",
        "Reviews by people",
        "A text waits for reviewers as long as newer texts come.",
        f"{CLEANWEB}/store/reviews.sql",
        before="AND a.reviewer = ANY (%(spellings)s::text[]))\n      ORDER BY r.review_id\n",
        after="AND a.reviewer = ANY (%(spellings)s::text[]))\n      ORDER BY r.review_id DESC\n",
        tests=(f"{_CLEANWEB_TESTS}/test_leases.py::test_an_opinion_needs_a_lease",),
    ),
    Mutation(
        "reviews-closed-for-other-environments",
        "Reviews by people",
        "A call of the environment `testing` closes the reviews of `stable`.",
        f"{CLEANWEB}/store/reviews.sql",
        before="clock_timestamp()\nWHERE service = %(service)s AND environment = %(environment)s AND key",
        after="clock_timestamp()\nWHERE key",
        tests=(f"{_CLEANWEB_TESTS}/test_equal_texts.py::test_a_service_closes_its_own_reviews_only",),
    ),
)
