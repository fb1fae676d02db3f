"""Verdicts."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import CLEANWEB, MODERATION, MODERATION_TESTS

_CALLBACK_TESTS: Final = f"{MODERATION_TESTS}/integration/http/test_callback.py"
_DELIVERY_TESTS: Final = "services/cleanweb/tests/integration/test_callbacks.py"
_TAKING_TESTS: Final = f"{MODERATION_TESTS}/integration/judging/test_taking.py"
_CORRECTING_TESTS: Final = f"{MODERATION_TESTS}/integration/judging/test_correcting.py"
_LOCK_TESTS: Final = f"{MODERATION_TESTS}/integration/decisions/test_locks.py"

MUTATIONS: Final = (
    Mutation(
        "verdict-applied-by-key-alone",
        "Verdicts",
        "A verdict about an earlier text of an offer decides about the present one.",
        f"{MODERATION}/domain/decisions.py",
        before="if sent.text_hash is not None and sent.text_hash != subject.text_hash:",
        after="if sent.text_hash is not None and not subject.text_hash:",
        tests=(
            f"{MODERATION_TESTS}/integration/decisions/test_verdicts.py::test_verdict_for_a_changed_text_is_kept_and_not_applied",
        ),
    ),
    Mutation(
        "verdict-without-a-new-version",
        "Verdicts",
        "A vote that was read before a verdict is written over what the verdict changed.",
        f"{MODERATION}/store/decisions.sql",
        before="version = greatest(p.version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
        after="version = p.version",
        tests=(
            f"{MODERATION_TESTS}/integration/points/test_versions.py::test_vote_that_read_before_a_verdict_is_not_written",
        ),
    ),
    Mutation(
        "end-verdict-stored",
        "Verdicts",
        "The end verdict is taken for a verdict: it is stored, and judged as one that no rule names.",
        f"{MODERATION}/domain/verdicts.py",
        before="    elif name not in collected.verdicts:",
        after="    if name not in collected.verdicts and entity == _TEXT:",
        tests=(
            f"{MODERATION_TESTS}/integration/judging/test_requests.py::test_verdicts_at_once_are_applied",
            f"{_CALLBACK_TESTS}::test_the_end_alone_approves_and_a_verdict_without_a_rule_forbids",
        ),
    ),
    Mutation(
        "verdicts-judged-one-by-one",
        "Verdicts",
        "A forbidden text is shown, with changed tags, until the last of its verdicts is judged.",
        f"{MODERATION}/http/callback.py",
        before="[Arrived(key, found, request_id) for key, found in by_key.items()]",
        after="[Arrived(key, type(found)((each,), found.has_end), request_id)"
        " for key, found in by_key.items() for each in found.verdicts]",
        tests=(f"{_CALLBACK_TESTS}::test_all_verdicts_of_a_text_are_judged_together",),
    ),
    Mutation(
        "callback-in-memory",
        "Verdicts",
        "A callback is confirmed before it is stored, and lost with the process.",
        f"{MODERATION}/app/decisions/record_verdicts.py",
        before="faults = await asyncio.shield(batch.written)",
        after="faults = batch.written.result() if batch.written.done() else {}",
        tests=(
            f"{_CALLBACK_TESTS}::test_it_is_confirmed_when_it_is_committed",
            f"{_CALLBACK_TESTS}::test_what_cannot_be_stored_is_not_confirmed_and_holds_up_no_other",
        ),
    ),
    Mutation(
        "callback-confirmed-though-refused",
        "Verdicts",
        "The sender of a verdict that cannot be stored gets the response that it is.",
        f"{MODERATION}/app/decisions/record_verdicts.py",
        before="raise faults[place]",
        after="pass",
        tests=(f"{_CALLBACK_TESTS}::test_what_cannot_be_stored_is_not_confirmed_and_holds_up_no_other",),
    ),
    Mutation(
        "callback-of-anybody",
        "Verdicts",
        "Whoever sends no token is accepted, in every environment and as often as they like.",
        f"{MODERATION}/http/callback.py",
        before="anonymous=_ANONYMOUS\n        ),\n        takes_anonymous=takes_anonymous,",
        after="),\n        takes_anonymous=True,",
        tests=(f"{_CALLBACK_TESTS}::test_votes_work_while_a_thousand_callbacks_without_a_token_are_refused",),
    ),
    Mutation(
        "callback-for-any-service",
        "Verdicts",
        "A token that another service got from the verdict service opens the callback.",
        "libs/common/src/classifeed_common/auth/service_tokens.py",
        before="if audience not in verified.audiences:",
        after="if not verified.audiences:",
        tests=(f"{_CALLBACK_TESTS}::test_a_wrong_token_is_refused_and_counted_and_changes_nothing",),
    ),
    Mutation(
        "callback-without-keys-on-the-loopback",
        "Verdicts",
        "A moderation without keys starts on the loopback and takes verdicts from whoever reaches it.",
        f"{MODERATION}/bootstrap.py",
        before='http_keys(settings, required_by="The callback of the verdict service")',
        after="http_keys(settings)",
        tests=(f"{_CALLBACK_TESTS}::test_without_keys_it_does_not_start_on_the_loopback_either",),
    ),
    Mutation(
        "callback-refused-uncounted",
        "Verdicts",
        "Callbacks that are JSON and hold no verdicts are refused without a trace in the metrics.",
        f"{MODERATION}/http/callback.py",
        before='        HTTP_REFUSALS.labels(_NAME, "VERDICTS_INVALID").inc()\n',
        after="",
        tests=(f"{_CALLBACK_TESTS}::test_wrong_bodies_are_refused_and_counted",),
    ),
    Mutation(
        "callback-with-nul",
        "Verdicts",
        "A key that the database cannot take gets as far as the database, and its refusal is counted nowhere.",
        f"{MODERATION}/domain/verdicts.py",
        before="not key or not _can_be_stored(key):",
        after="not key:",
        tests=(f"{_CALLBACK_TESTS}::test_wrong_bodies_are_refused_and_counted",),
    ),
    Mutation(
        "rules-never-looked-at-again",
        "Verdicts",
        "A change of the rules file is in force after a restart only.",
        f"{MODERATION}/bootstrap.py",
        before="            group.create_task(rules.watch(stop))\n",
        after="",
        tests=(
            f"{MODERATION_TESTS}/integration/rules/test_live_rules.py::test_a_change_is_live_and_a_wrong_one_is_not",
        ),
    ),
    Mutation(
        "terms-never-looked-at-again",
        "Verdicts",
        "A change of cleanweb's terms is in force after a restart only.",
        f"{CLEANWEB}/bootstrap.py",
        before="            group.create_task(rules.watch(stop))\n",
        after="",
        tests=(
            "services/cleanweb/tests/integration/test_live_rules.py"
            "::test_a_new_term_is_found_and_a_wrong_file_changes_nothing",
        ),
    ),
    Mutation(
        "batch-answered-in-one",
        "Verdicts",
        "cleanweb responds to a batch with the first text's response alone.",
        f"{CLEANWEB}/http/requests.py",
        before="return ProcessedBody(processed if isinstance(body, list) else processed[0])",
        after="return ProcessedBody(processed[0])",
        tests=("tests/contract/test_moderation_cleanweb.py::test_each_text_of_a_batch_has_its_own_response",),
    ),
    Mutation(
        "callback-for-another-audience",
        "Verdicts",
        "cleanweb's callbacks carry a token for itself, and moderation takes none of them.",
        f"{CLEANWEB}/clients/receivers.py",
        before="self._issue_token(receiver.audience)",
        after='self._issue_token("cleanweb")',
        tests=("tests/contract/test_moderation_cleanweb.py::test_a_point_goes_to_people_and_comes_back_by_callback",),
    ),
    Mutation(
        "breaker-never-opens",
        "Verdicts",
        "A verdict service that fails gets every request.",
        f"{MODERATION}/clients/breaker.py",
        before="                self._limit = 0\n",
        after="                pass\n",
        tests=(
            f"{MODERATION_TESTS}/unit/clients/test_breaker.py::test_a_service_that_is_away_gets_one_request_a_second",
        ),
    ),
    Mutation(
        "claims-without-shares",
        "Verdicts",
        "A seller with many texts delays all others.",
        f"{MODERATION}/app/judging/claim_texts.py",
        before="if kind is Kind.OFFER else []",
        after="if kind is Kind.POINT else []",
        tests=(
            f"{MODERATION_TESTS}/integration/judging/test_correcting.py::test_a_seller_with_many_texts_delays_no_other",
        ),
    ),
    Mutation(
        "requests-repeated-with-old-versions",
        "Verdicts",
        "A text that a restore brought back is requested for ever, and never judged.",
        "services/offers/src/classifeed_offers/store/judging.sql",
        before="(extract(epoch FROM o.text_requested_at) * 1000000)::bigint AS content_version",
        after="o.last_task_id AS content_version",
        tests=(
            "services/offers/tests/integration/texts/test_texts.py"
            "::test_versions_of_texts_grow_with_every_request_also_after_a_restore",
        ),
    ),
    Mutation(
        "callbacks-without-order",
        "Verdicts",
        "A verdict comes after a newer one of its key.",
        f"{CLEANWEB}/store/callbacks.sql",
        before="c.callback_id <= last.callback_id",
        after="c.callback_id = last.callback_id",
        tests=(f"{_DELIVERY_TESTS}::test_a_verdict_never_comes_after_a_newer_one_of_its_key",),
    ),
    Mutation(
        "text-queued-before-its-commit",
        "Verdicts",
        "A text whose transaction is rolled back is requested, and is taken for known when it comes again.",
        f"{MODERATION}/app/judging/take_offer_texts.py",
        before="after_commit(tx, partial(self._queue.put_all, firsts.values()))",
        after="self._queue.put_all(firsts.values())",
        tests=(f"{_TAKING_TESTS}::test_nothing_is_queued_where_the_transaction_is_rolled_back",),
    ),
    Mutation(
        "new-texts-take-the-whole-queue",
        "Verdicts",
        "Texts that come all the time leave no place to those that are due.",
        f"{MODERATION}/app/judging/queue_texts.py",
        before="self._room(kind, self._size // 2)",
        after="self._room(kind, self._size)",
        tests=(f"{_TAKING_TESTS}::test_half_of_the_queue_is_for_texts_that_are_due",),
    ),
    Mutation(
        "callback-waits-for-others",
        "Verdicts",
        "A callback waits until responses have gathered, although its caller waits for the commit.",
        f"{MODERATION}/app/decisions/record_verdicts.py",
        before="if not gathers or len(batch.items) >= self._gathered_items:",
        after="if len(batch.items) >= self._gathered_items:",
        tests=(f"{_TAKING_TESTS}::test_responses_that_come_after_a_small_transaction_are_recorded_together",),
    ),
    Mutation(
        "queue-open-without-workers",
        "Verdicts",
        "A process without workers leases texts that nobody requests: each waits for a minute.",
        f"{MODERATION}/app/judging/queue_texts.py",
        before="self._is_open = False",
        after="self._is_open = True",
        tests=(f"{_TAKING_TESTS}::test_without_workers_texts_are_due_at_once_and_left_to_others",),
    ),
    Mutation(
        "queue-open-after-the-workers",
        "Verdicts",
        "A process that stops leases texts for workers that have ended.",
        f"{MODERATION}/app/judging/judge_texts.py",
        before="            self._queue.close()\n",
        after="",
        tests=(f"{_TAKING_TESTS}::test_texts_are_queued_while_workers_run",),
    ),
    Mutation(
        "claimed-texts-dropped",
        "Verdicts",
        "Texts that were claimed find the queue full of new ones, and wait for a minute.",
        f"{MODERATION}/app/judging/correct_pending.py",
        before="self._queue.put_all(firsts.values())",
        after="[self._queue.put(task) for task in firsts.values()]",
        tests=(f"{_CORRECTING_TESTS}::test_what_is_claimed_is_queued_although_new_texts_come_meanwhile",),
    ),
    Mutation(
        "one-text-ends-the-role",
        "Verdicts",
        "A single text whose kept verdicts cannot be recorded ends the process.",
        f"{MODERATION}/app/decisions/record_verdicts.py",
        before="return {0: error}",
        after="raise",
        tests=(f"{_CORRECTING_TESTS}::test_kept_verdicts_that_cannot_be_recorded_do_not_end_the_role",),
    ),
    Mutation(
        "equal-texts-waited-for",
        "Verdicts",
        "Two batches with equal texts wait for each other, and all verdicts of one are thrown away.",
        f"{MODERATION}/store/subjects.sql",
        before="      AND next_retry > clock_timestamp() AND NOT subject_key = ANY (%(subject_keys)s)\n"
        "    FOR NO KEY UPDATE SKIP LOCKED",
        after="      AND next_retry > clock_timestamp() AND NOT subject_key = ANY (%(subject_keys)s)\n"
        "    FOR NO KEY UPDATE",
        tests=(f"{_LOCK_TESTS}::test_an_equal_text_that_somebody_holds_is_not_waited_for",),
    ),
    Mutation(
        "texts-of-people-locked-first",
        "Verdicts",
        "A batch locks the texts that people have before the others, and waits for one that waits for it.",
        f"{MODERATION}/app/decisions/record_verdicts.py",
        before="further=further",
        after="further=()",
        tests=(f"{_LOCK_TESTS}::test_texts_left_to_people_are_locked_in_one_order_with_the_others",),
    ),
    Mutation(
        "kept-verdicts-without-order",
        "Verdicts",
        "Two batches keep verdicts about the same texts in different orders, and wait for each other.",
        f"{MODERATION}/store/decisions.py",
        before="keys = sorted(verdicts)",
        after="keys = list(verdicts)",
        tests=(f"{_LOCK_TESTS}::test_kept_verdicts_are_written_in_one_order",),
    ),
    Mutation(
        "clean-up-removes-what-changes",
        "Verdicts",
        "The clean-up waits for an old text that is being changed, and removes the new one.",
        f"{MODERATION}/store/cleaning.sql",
        before="    FOR UPDATE OF s SKIP LOCKED\n",
        after="",
        tests=(
            f"{MODERATION_TESTS}/integration/test_clean_up.py::test_what_somebody_holds_is_not_waited_for_and_stays",
        ),
    ),
)
