"""Publish mark."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import API, API_TESTS, COMMON, COMMON_TESTS, OFFERS, OFFERS_TESTS

MUTATIONS: Final = (
    Mutation(
        "mark-moved-without-the-lease",
        "Publish mark",
        "A pusher that was revoked for a full push marks rows as known that the other side has lost.",
        f"{COMMON}/publish_mark/pusher.py",
        before="                await self._leases.guard(tx, lease)\n",
        after="",
        tests=(f"{COMMON_TESTS}/publish_mark/test_publish_mark.py::test_a_full_push_again_reaches_what_was_under_way",),
    ),
    Mutation(
        "push-fault-in-the-log-only",
        "Publish mark",
        "The other side refuses each push, and the service reports that nothing is blocked.",
        f"{COMMON}/publish_mark/pusher.py",
        before="                self._work.fault.note(error)\n",
        after="",
        tests=(
            f"{COMMON_TESTS}/publish_mark/test_publish_mark.py::test_a_push_that_fails_is_named_until_one_succeeds",
        ),
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
        "An offer that a restored table has lost is loaded again, and stays searchable as it was until its verdict.",
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
        "A republication after a restore begins between the insert of an offer and its commit, and leaves it out.",
        f"{OFFERS}/store/republishing.py",
        before='    await tx.execute(SQL["await_inserts"])\n',
        after="",
        tests=(
            f"{OFFERS_TESTS}/publishing/test_published_versions.py"
            "::test_a_republication_begins_while_a_new_offer_is_inserted",
        ),
    ),
    Mutation(
        "version-of-an-offer-falls",
        "Publish mark",
        "After the clock stepped back a change gets a lower version than the one before, and is never published.",
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
        "Offers that change one after the other go one by one, each with a transaction at every hop.",
        f"{COMMON}/publish_mark/pusher.py",
        before="if self._gather_s and found < self._batch:",
        after="if self._gather_s and found > self._batch:",
        tests=(
            f"{COMMON_TESTS}/publish_mark/test_publish_mark.py::test_rows_that_come_after_a_small_batch_go_together",
        ),
    ),
)
