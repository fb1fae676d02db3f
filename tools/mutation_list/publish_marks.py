"""Publish mark."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import (
    API,
    API_TESTS,
    COMMON,
    COMMON_TESTS,
    MODERATION,
    MODERATION_TESTS,
    OFFERS,
    OFFERS_TESTS,
)

_COMPARISON: Final = "libs/domain/src/classifeed_domain/publishing/comparison.py"
_COMPARISON_TESTS: Final = f"{OFFERS_TESTS}/publishing/test_comparison.py"
_POINTS_TESTS: Final = f"{MODERATION_TESTS}/integration/points/test_publishing.py"

MUTATIONS: Final = (
    Mutation(
        "mark-moved-without-the-lease",
        "Publish mark",
        "A pusher whose lease was revoked for a full push marks rows as known that the receiver has lost.",
        f"{COMMON}/publish_mark/pusher.py",
        before="                await self._leases.guard(tx, lease)\n",
        after="",
        tests=(f"{COMMON_TESTS}/publish_mark/test_publish_mark.py::test_a_full_push_again_reaches_what_was_under_way",),
    ),
    Mutation(
        "refused-tasks-in-the-log-only",
        "Publish mark",
        "The processor refuses to create tasks, and the service reports that nothing is blocked.",
        f"{API}/app/peers/create_tasks.py",
        before="            self._fault.note(error)\n",
        after="",
        tests=(
            f"{API_TESTS}/peers/test_task_line.py::test_tasks_that_the_processor_refuses_are_named_until_one_is_made",
        ),
    ),
    Mutation(
        "mark-of-offers-falls",
        "Publish mark",
        "A late pusher moves the mark of an offer back.",
        f"{OFFERS}/store/publishing.sql",
        before=" AND o.published_version < n.version",
        after="",
        tests=(
            f"{OFFERS_TESTS}/publishing/test_published_versions.py::test_the_mark_moves_by_version_and_never_falls",
        ),
    ),
    Mutation(
        "mark-of-feeds-falls",
        "Publish mark",
        "A late pusher moves the mark of a feed back.",
        f"{API}/store/feeds.sql",
        before=" AND f.published_version < d.version",
        after="",
        tests=(f"{API_TESTS}/peers/test_push_sources.py::test_mark_moves_by_version_and_never_falls",),
    ),
    Mutation(
        "mark-of-uploads-falls",
        "Publish mark",
        "A late pusher moves the mark of an upload back.",
        f"{API}/store/task_line.sql",
        before=" AND u.published_version < d.version",
        after="",
        tests=(f"{API_TESTS}/peers/test_task_line.py::test_mark_of_an_upload_moves_by_version_and_never_falls",),
    ),
    Mutation(
        "lost-offer-stays-searchable",
        "Publish mark",
        "An offer that a restored table lost is loaded again, and stays searchable in its old state until its verdict.",
        f"{OFFERS}/store/applying.sql",
        before=" AND NOT EXISTS (SELECT FROM republications)",
        after="",
        tests=(
            f"{OFFERS_TESTS}/publishing/test_published_versions.py"
            "::test_after_a_republication_a_new_offer_is_published_before_its_verdict",
        ),
    ),
    Mutation(
        "republication-overtakes-an-insert",
        "Publish mark",
        "A republication after a restore starts between the insert of an offer and its commit, and misses it.",
        f"{OFFERS}/store/republishing.py",
        before='    await tx.execute(_SQL["await_inserts"])\n',
        after="",
        tests=(
            f"{OFFERS_TESTS}/publishing/test_published_versions.py"
            "::test_a_republication_begins_while_a_new_offer_is_inserted",
        ),
    ),
    Mutation(
        "version-of-an-offer-falls",
        "Publish mark",
        "After the clock is set back a change gets a lower version, and is never published.",
        f"{OFFERS}/store/applying.sql",
        before="greatest(o.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
        after="(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
        tests=(
            f"{OFFERS_TESTS}/publishing/test_published_versions.py"
            "::test_a_version_is_above_the_one_before_when_the_clock_steps_back[updated]",
        ),
    ),
    Mutation(
        "pushed-one-by-one",
        "Publish mark",
        "Offers that change one after another are pushed one by one, each with a transaction in every service.",
        f"{COMMON}/publish_mark/pusher.py",
        before="if self._gather_s and found < self._batch:",
        after="if self._gather_s and found > self._batch:",
        tests=(
            f"{COMMON_TESTS}/publish_mark/test_publish_mark.py::test_rows_that_come_after_a_small_batch_go_together",
        ),
    ),
    Mutation(
        "lost-documents-stay",
        "Publish mark",
        "Documents whose rows a restored table lost stay in the registry and the search for ever.",
        _COMPARISON,
        before="        if found.lost and await self._may_withdraw():\n",
        after="        if False:\n",
        tests=(f"{_POINTS_TESTS}::test_documents_of_points_that_a_restored_table_lost_are_withdrawn",),
    ),
    Mutation(
        "rows-that-went-back-stay-published",
        "Publish mark",
        "The search shows offers in a state that their restored table has lost.",
        _COMPARISON,
        before="        if found.unequal:\n",
        after="        if False:\n",
        tests=(f"{_COMPARISON_TESTS}::test_documents_equal_a_table_that_was_restored",),
    ),
    Mutation(
        "withdrawal-above-newer-rows",
        "Publish mark",
        "A process that was stopped withdraws an offer that a load has created again meanwhile.",
        _COMPARISON,
        before="version=stored.version + 1,",
        after="version=stored.version + 10**12,",
        tests=(f"{_COMPARISON_TESTS}::test_a_late_withdrawal_does_not_hide_an_offer_that_came_back",),
    ),
    Mutation(
        "withdrawn-before-requests-are-applied",
        "Publish mark",
        "After a restore, offers that are still on the topic leave the search until their requests are applied.",
        _COMPARISON,
        before="        if found.lost and await self._may_withdraw():\n",
        after="        if found.lost:\n",
        tests=(f"{_COMPARISON_TESTS}::test_lost_offers_are_not_withdrawn_while_requests_can_bring_them_back",),
    ),
    Mutation(
        "refused-offers-pushed-each-round",
        "Publish mark",
        "An offer that the receiver refuses is pushed again in every round of the comparison.",
        f"{OFFERS}/store/publishing.sql",
        before="                AND NOT EXISTS (SELECT FROM refused_documents r"
        " WHERE r.offer_id = o.offer_id AND r.version = o.version)\n",
        after="",
        tests=(f"{_COMPARISON_TESTS}::test_an_offer_that_the_receiver_refuses_is_not_pushed_again_and_again",),
    ),
    Mutation(
        "texts-that-went-back-do-not-count",
        "Publish mark",
        "A point stays in the search after a restore has lost the approval of its text.",
        f"{MODERATION}/store/publishing.sql",
        before=" OR p.is_shown = n.is_removed",
        after="",
        tests=(f"{_POINTS_TESTS}::test_a_point_whose_text_went_back_is_shown_as_its_text_says",),
    ),
    Mutation(
        "lost-texts-unnamed",
        "Publish mark",
        "Points whose texts a restore lost are not shown, and nothing reports the reason.",
        f"{MODERATION}/app/points/maintain_publication.py",
        before="        if not count:\n",
        after="        if True:\n",
        tests=(f"{_POINTS_TESTS}::test_points_without_texts_are_named_until_their_authors_create_them_again",),
    ),
    Mutation(
        "text-of-a-lost-point-stays",
        "Publish mark",
        "A point that is created again after a restore gets the text and the approval of the lost one.",
        f"{MODERATION}/app/judging/store_texts.py",
        before="        if orphans := [text for text in texts if text.key not in added]:\n",
        after="        if orphans := [text for text in texts if text.key in ()]:\n",
        tests=(f"{_POINTS_TESTS}::test_a_point_created_again_has_its_own_text_and_waits_for_a_verdict",),
    ),
    Mutation(
        "key-of-a-lost-comment-again",
        "Publish mark",
        "A verdict about a comment that a restore lost decides about another comment.",
        f"{MODERATION}/app/points/comment_point.py",
        before="            index += 1\n",
        after="            break\n",
        tests=(f"{_POINTS_TESTS}::test_a_comment_does_not_take_the_key_of_a_lost_one",),
    ),
    Mutation(
        "numbers-of-decisions-again",
        "Publish mark",
        "A restored moderation reuses the numbers of lost decisions, and readers of the event log miss the new ones.",
        f"{MODERATION}/migrations/versions/20261201_4_pre_decision_numbers.py",
        before="((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 10) + ",
        after="",
        tests=(
            f"{MODERATION_TESTS}/integration/points/test_restores.py::test_the_numbers_of_decisions_do_not_come_again",
        ),
    ),
)
