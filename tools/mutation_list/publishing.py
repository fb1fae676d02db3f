"""Rows that another service needs: publish marks, versions, and restored tables."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import (
    API,
    API_TESTS,
    COMMON,
    COMMON_TESTS,
    DOMAIN,
    MODERATION_TESTS,
    OFFERS,
    OFFERS_TESTS,
)

_TEST_PUBLISHED_VERSIONS: Final = f"{OFFERS_TESTS}/integration/publishing/test_published_versions.py"

MUTATIONS: Final = (
    Mutation(
        "mark-moved-without-the-lease",
        "A pusher whose lease was revoked for a full push marks rows as known that the receiver has lost.",
        f"{COMMON}/publish_mark/pusher.py",
        before="                await self._leases.guard(tx, lease)\n",
        after="",
        tests=(
            f"{COMMON_TESTS}/integration/publish_mark/test_publish_mark.py"
            "::test_a_full_push_again_reaches_what_was_under_way",
        ),
    ),
    Mutation(
        "mark-of-offers-falls",
        "A late pusher moves the mark of an offer back.",
        f"{OFFERS}/store/publishing.sql",
        before=" AND o.published_version < n.version",
        after="",
        tests=(f"{_TEST_PUBLISHED_VERSIONS}::test_the_mark_moves_by_version_and_never_falls",),
    ),
    Mutation(
        "mark-of-feeds-falls",
        "A late pusher moves the mark of a feed back.",
        f"{API}/store/feeds.sql",
        before=" AND f.published_version < d.version",
        after="",
        tests=(f"{API_TESTS}/integration/peers/test_push_sources.py::test_mark_moves_by_version_and_never_falls",),
    ),
    Mutation(
        "mark-of-uploads-falls",
        "A late pusher moves the mark of an upload back.",
        f"{API}/store/task_line.sql",
        before=" AND u.published_version < d.version",
        after="",
        tests=(
            f"{API_TESTS}/integration/peers/test_task_line.py::test_mark_of_an_upload_moves_by_version_and_never_falls",
        ),
    ),
    Mutation(
        "republication-overtakes-an-insert",
        "A republication after a restore starts between the insert of an offer and its commit, and misses it.",
        f"{OFFERS}/store/republishing.py",
        before='    await tx.execute(_SQL["await_inserts"])\n',
        after="",
        tests=(f"{_TEST_PUBLISHED_VERSIONS}::test_a_republication_begins_while_a_new_offer_is_inserted",),
    ),
    Mutation(
        "version-of-an-offer-falls",
        "After the clock is set back a change gets a lower version, and is never published.",
        f"{OFFERS}/store/applying.sql",
        before="greatest(o.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
        after="(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
        tests=(
            f"{_TEST_PUBLISHED_VERSIONS}::test_a_version_is_above_the_one_before_when_the_clock_steps_back[updated]",
        ),
    ),
    Mutation(
        "lost-documents-stay",
        "Documents whose rows a restored table lost stay in the registry and the search for ever.",
        f"{DOMAIN}/publishing/comparison.py",
        before="        if found.lost and await self._may_withdraw():\n",
        after="        if False:\n",
        tests=(
            f"{MODERATION_TESTS}/integration/points/test_publishing.py"
            "::test_documents_of_points_that_a_restored_table_lost_are_withdrawn",
        ),
    ),
    Mutation(
        "withdrawal-above-newer-rows",
        "A process that was stopped withdraws an offer that a load has created again meanwhile.",
        f"{DOMAIN}/publishing/comparison.py",
        before="version=stored.version + 1,",
        after="version=stored.version + 10**12,",
        tests=(
            f"{OFFERS_TESTS}/integration/publishing/test_comparison.py"
            "::test_a_late_withdrawal_does_not_hide_an_offer_that_came_back",
        ),
    ),
)
