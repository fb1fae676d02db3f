"""Texts: requests, verdicts, and decisions of moderation."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import MODERATION, MODERATION_TESTS, OFFERS, OFFERS_TESTS

_TEST_VERDICTS: Final = f"{MODERATION_TESTS}/integration/decisions/test_verdicts.py"

MUTATIONS: Final = (
    Mutation(
        "verdict-applied-by-key-alone",
        "A verdict about an earlier text of an offer decides about the current one.",
        f"{MODERATION}/domain/decisions.py",
        before="if sent.text_hash is not None and sent.text_hash != subject.text_hash:",
        after="if sent.text_hash is not None and not subject.text_hash:",
        tests=(f"{_TEST_VERDICTS}::test_verdict_for_a_changed_text_is_kept_and_not_applied",),
    ),
    Mutation(
        "verdict-without-a-new-version",
        "A vote that was read before a verdict overwrites the change of the verdict.",
        f"{MODERATION}/store/decisions.sql",
        before="version = greatest(p.version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
        after="version = p.version",
        tests=(
            f"{MODERATION_TESTS}/integration/points/test_versions.py"
            "::test_vote_that_read_before_a_verdict_is_not_written",
        ),
    ),
    Mutation(
        "verdicts-judged-one-by-one",
        "A forbidden text is shown with changing tags until the last of its verdicts is judged.",
        f"{MODERATION}/http/callback.py",
        before="[Arrived(key, found, request_id) for key, found in by_key.items()]",
        after="[Arrived(key, type(found)((each,), found.has_end), request_id)"
        " for key, found in by_key.items() for each in found.verdicts]",
        tests=(
            f"{MODERATION_TESTS}/integration/http/test_callback.py::test_all_verdicts_of_a_text_are_judged_together",
        ),
    ),
    Mutation(
        "callback-in-memory",
        "A callback is confirmed before it is stored, and is lost with the process.",
        f"{MODERATION}/app/decisions/record_verdicts.py",
        before="faults = await asyncio.shield(batch.written)",
        after="faults = batch.written.result() if batch.written.done() else {}",
        tests=(
            f"{MODERATION_TESTS}/integration/http/test_callback.py::test_it_is_confirmed_when_it_is_committed",
            f"{MODERATION_TESTS}/integration/http/test_callback.py"
            "::test_what_cannot_be_stored_is_not_confirmed_and_holds_up_no_other",
        ),
    ),
    Mutation(
        "text-queued-before-its-commit",
        "A text of a rolled-back transaction is requested, and counts as known when it comes again.",
        f"{MODERATION}/app/judging/take_offer_texts.py",
        before="after_commit(tx, partial(self._queue.put_all, firsts.values()))",
        after="self._queue.put_all(firsts.values())",
        tests=(
            f"{MODERATION_TESTS}/integration/judging/test_taking.py"
            "::test_nothing_is_queued_where_the_transaction_is_rolled_back",
        ),
    ),
    Mutation(
        "kept-verdicts-shared-by-kinds",
        "Verdicts about an offer decide about a comment with the same words.",
        f"{MODERATION}/domain/subjects.py",
        before='hash_text(f"{kind}\\0{regions}\\0{normalised}")',
        after='hash_text(f"{regions}\\0{normalised}")',
        tests=(
            f"{MODERATION_TESTS}/unit/domain/test_subjects.py"
            "::test_texts_of_a_kind_in_the_same_regions_share_verdicts_and_others_do_not",
        ),
    ),
    Mutation(
        "kept-verdicts-of-incomplete-lists",
        "A list of verdicts without the end verdict decides about equal texts.",
        f"{MODERATION}/app/decisions/apply_verdicts.py",
        before="if decision.is_applied and item.keeps and item.verdict_list.has_end:",
        after="if decision.is_applied and item.keeps:",
        tests=(f"{_TEST_VERDICTS}::test_without_the_end_only_forbidden_verdicts_are_applied",),
    ),
    Mutation(
        "refused-texts-come-back",
        "A later verdict shows a text that was refused.",
        f"{MODERATION}/domain/decisions.py",
        before="        return NotApplied.ALREADY_DISAPPROVED\n",
        after="        return None\n",
        tests=(f"{_TEST_VERDICTS}::test_a_removed_point_stays_removed",),
    ),
    Mutation(
        "older-texts-of-offers-win",
        "A text that was sent earlier and arrives later replaces the current one.",
        f"{MODERATION}/store/offer_texts.sql",
        before="    WHERE s.text_hash <> excluded.text_hash AND s.content_version <= excluded.content_version\n",
        after="    WHERE s.text_hash <> excluded.text_hash\n",
        tests=(f"{_TEST_VERDICTS}::test_older_and_equal_texts_change_nothing",),
    ),
    Mutation(
        "older-outcomes-of-texts-win",
        "A restored outbox of moderation sends an old outcome after a newer one, and offers applies it.",
        f"{OFFERS}/store/judging.sql",
        before="  AND (o.text_decided_at IS NULL OR o.text_decided_at < n.decided_at)\n",
        after="",
        tests=(
            f"{OFFERS_TESTS}/integration/texts/test_texts.py"
            "::test_outcomes_that_are_repeated_older_or_about_another_text_change_nothing",
        ),
    ),
    Mutation(
        "breaker-never-opens",
        "A failing verdict service gets every request.",
        f"{MODERATION}/clients/breaker.py",
        before="                self._limit = 0\n",
        after="                pass\n",
        tests=(
            f"{MODERATION_TESTS}/unit/clients/test_breaker.py::test_a_service_that_is_away_gets_one_request_a_second",
        ),
    ),
    Mutation(
        "claims-without-shares",
        "A seller with many texts delays all others.",
        f"{MODERATION}/app/judging/claim_texts.py",
        before="if kind is Kind.OFFER else []",
        after="if kind is Kind.POINT else []",
        tests=(
            f"{MODERATION_TESTS}/integration/judging/test_correcting.py::test_a_seller_with_many_texts_delays_no_other",
        ),
    ),
    Mutation(
        "lost-decisions-not-reported",
        "Moderation does not respond to a decision number that it does not have.",
        f"{MODERATION}/app/judging/take_offer_texts.py",
        before="        await report_lost(tx, self._deciding.outbox, sent, kept_days=self._decisions_days)\n",
        after="",
        tests=(
            f"{MODERATION_TESTS}/integration/decisions/test_adopting.py"
            "::test_numbers_of_lost_decisions_are_reported_once_they_are_asked_for",
        ),
    ),
    Mutation(
        "decisions-by-submit-texts",
        "A caller of SubmitTexts can decide about any text.",
        f"{MODERATION}/rpc/moderation_service/texts.py",
        before="        if sent.applied_decision_id or sent.removed or any(",
        after="        if False and any(",
        tests=(
            f"{MODERATION_TESTS}/integration/decisions/test_adopting.py"
            "::test_a_caller_of_submit_texts_decides_about_no_text",
        ),
    ),
)
