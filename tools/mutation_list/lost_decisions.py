"""Decisions about texts of offers that a restore of moderation loses."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import MODERATION, MODERATION_TESTS, OFFERS, OFFERS_TESTS

_MECHANISM: Final = "Decisions that a restore has lost"
_ADOPTING: Final = f"{MODERATION_TESTS}/integration/decisions/test_adopting.py"
_RETURNING: Final = f"{OFFERS_TESTS}/texts/test_returning_decisions.py"
_RESTORED: Final = (
    "tests/contract/moderation/test_lost_decisions.py"
    "::test_decisions_that_a_restore_of_moderation_loses_are_there_again[texts]"
)

MUTATIONS: Final = (
    Mutation(
        "lost-decisions-unnoticed",
        _MECHANISM,
        "Moderation gets no requests for the decisions that offers has applied.",
        f"{OFFERS}/parts/consuming.py",
        before="consumer, requester, decisions,",
        after="consumer, requester,",
        tests=(_RESTORED,),
    ),
    Mutation(
        "lost-decisions-not-reported",
        _MECHANISM,
        "Moderation does not respond to a decision number that it does not have.",
        f"{MODERATION}/app/judging/take_offer_texts.py",
        before="        await report_lost(tx, self._deciding.outbox, sent, kept_days=self._decisions_days)\n",
        after="",
        tests=(f"{_ADOPTING}::test_numbers_of_lost_decisions_are_reported_once_they_are_asked_for",),
    ),
    Mutation(
        "deleted-decisions-reported-as-lost",
        _MECHANISM,
        "Decisions deleted because of their age are reported as lost.",
        f"{MODERATION}/store/decisions.sql",
        before="  AND n.decision_id >> 10 > (",
        after="  AND n.decision_id > 0 * (",
        tests=(f"{_ADOPTING}::test_numbers_of_lost_decisions_are_reported_once_they_are_asked_for",),
    ),
    Mutation(
        "old-reports-hide-a-loss",
        _MECHANISM,
        "A repeated report of an earlier loss makes offers forget which decisions it applied.",
        f"{OFFERS}/store/judging.sql",
        before="%(decision_id)s IN (SELECT decision_id FROM lost)",
        after="%(decision_id)s > 0",
        tests=(f"{_RETURNING}::test_a_loss_that_partitions_report_starts_one_job_and_an_old_report_none",),
    ),
    Mutation(
        "lost-requests-not-sent-again",
        _MECHANISM,
        "Requests for verdicts that were lost with the decisions are repeated only after 15 minutes.",
        f"{OFFERS}/jobs/return_decisions.py",
        before="            await judging.request_at_once(tx, namespace, external_ids, since=args.since)\n",
        after="",
        tests=(f"{_RETURNING}::test_lost_decisions_are_sent_with_their_texts_and_lost_requests_again",),
    ),
    Mutation(
        "lost-removals-not-sent-again",
        _MECHANISM,
        "Reviewers get the texts of offers whose removal moderation has lost.",
        f"{OFFERS}/store/judging.sql",
        before="       OR (o.status = 'REMOVED' AND",
        after="       OR (o.status = 'NONE' AND",
        tests=(f"{_RETURNING}::test_lost_decisions_are_sent_with_their_texts_and_lost_requests_again",),
    ),
    Mutation(
        "older-decisions-adopted",
        _MECHANISM,
        "Moderation adopts a decision that is older than its own.",
        f"{MODERATION}/app/decisions/adopt_decisions.py",
        before="is_known = known_at is not None and",
        after="is_known = known_at is None and",
        tests=(f"{_ADOPTING}::test_the_later_decision_holds",),
    ),
    Mutation(
        "decisions-adopted-for-other-texts",
        _MECHANISM,
        "Moderation adopts a decision for a text that has changed since.",
        f"{MODERATION}/app/decisions/adopt_decisions.py",
        before="if subject.text_hash == kept[key].text_hash and not is_known:",
        after="if not is_known:",
        tests=(f"{_ADOPTING}::test_the_later_decision_holds",),
    ),
    Mutation(
        "decisions-by-submit-texts",
        _MECHANISM,
        "A caller of SubmitTexts can decide about any text.",
        f"{MODERATION}/rpc/moderation_service/texts.py",
        before="        if sent.applied_decision_id or sent.removed or any(",
        after="        if False and any(",
        tests=(f"{_ADOPTING}::test_a_caller_of_submit_texts_decides_about_no_text",),
    ),
)
