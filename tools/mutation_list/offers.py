"""Offers."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import OFFERS, OFFERS_TESTS

MUTATIONS: Final = (
    Mutation(
        "single-change-of-a-feed",
        "Offers",
        "An offer of a feed is changed by hand, and its next load reverts the change without a notice.",
        f"{OFFERS}/domain/patch.py",
        before="if state.origin is not Origin.MANUAL:",
        after="if False:",
        tests=(f"{OFFERS_TESTS}/rpc/test_manual_offers.py::test_offers_of_a_feed_are_refused",),
    ),
    Mutation(
        "single-change-beside-a-load",
        "Offers",
        "A change of one offer does not wait for a batch with the same offer, and one of both is lost.",
        f"{OFFERS}/store/manual.py",
        before="    if not await applying.lock_heads(tx, {namespace}, create=False):\n        return None\n",
        after="",
        tests=(
            f"{OFFERS_TESTS}/rpc/test_manual_offers.py"
            "::test_a_change_waits_for_the_batch_of_a_load_and_comes_wholly_after_it",
        ),
    ),
    Mutation(
        "single-change-of-any-version",
        "Offers",
        "A change of one offer overwrites a later change by another person.",
        f"{OFFERS}/app/manual/update_offer.py",
        before="            check_version(name, stored.row.version, version)\n",
        after="",
        tests=(
            f"{OFFERS_TESTS}/rpc/test_manual_offers.py"
            "::test_a_repeated_change_changes_nothing_and_another_version_is_refused",
        ),
    ),
    Mutation(
        "offers-kept-by-hand-for-ever",
        "Offers",
        "The removal of all offers does not remove manual offers.",
        f"{OFFERS}/app/loads/sweep_run.py",
        before='slice_offers, with_manual=end.disposition == "DELETE_ALL")',
        after="slice_offers)",
        tests=(f"{OFFERS_TESTS}/rpc/test_manual_offers.py::test_a_removal_of_all_takes_offers_kept_by_hand_too",),
    ),
    Mutation(
        "removal-of-all-taken-for-done",
        "Offers",
        "A namespace that is already removed keeps its manual offers, even if their removal is requested.",
        "services/api/src/classifeed_api/domain/removal.py",
        before="or task.status in _UNDONE or leaves_some",
        after="or task.status in _UNDONE",
        tests=(
            "services/api/tests/integration/uploads/test_uploads_alone.py"
            "::test_offers_kept_by_hand_are_removed_from_a_removed_namespace",
        ),
    ),
    Mutation(
        "head-not-locked",
        "Offers",
        "Batches of an older task are written after a newer task is applied.",
        f"{OFFERS}/store/applying.sql",
        before="\nFOR NO KEY UPDATE OF h",
        after="",
        tests=(f"{OFFERS_TESTS}/loads/test_overtaking.py::test_a_newer_task_waits_for_batches_that_are_being_applied",),
    ),
    Mutation(
        "head-not-held-by-the-sweep",
        "Offers",
        "A sweep removes offers that a newer task adds at the same time.",
        f"{OFFERS}/store/sweeping.sql",
        before="FOR SHARE OF h FOR UPDATE OF e",
        after="FOR UPDATE OF e",
        tests=(
            f"{OFFERS_TESTS}/loads/test_overtaking.py::test_a_newer_task_waits_for_a_step_of_a_sweep",
            f"{OFFERS_TESTS}/loads/test_overtaking.py::test_a_sweep_waits_for_a_newer_task_and_sees_it",
        ),
    ),
    Mutation(
        "overtaken-sweep-goes-on",
        "Offers",
        "A sweep continues to remove offers after a newer run has started.",
        f"{OFFERS}/app/loads/sweep_run.py",
        before='if end.head != run.run:\n        await sweeping.finish(tx, run, "STALE")\n        return Step(',
        after='if end.head < run.run:\n        await sweeping.finish(tx, run, "STALE")\n        return Step(',
        tests=(f"{OFFERS_TESTS}/loads/test_overtaking.py::test_a_sweep_waits_for_a_newer_task_and_sees_it",),
    ),
    Mutation(
        "sweep-trusts-earlier-runs",
        "Offers",
        "Offers of an earlier run stay, although the completed run lacks them.",
        f"{OFFERS}/store/sweeping.sql",
        before="AND task_id = %(task)s AND run = %(run)s\n    ) AS unseen",
        after="AND task_id = %(task)s\n    ) AS unseen",
        tests=(f"{OFFERS_TESTS}/loads/test_overtaking.py::test_the_run_that_ended_says_what_is_lacking",),
    ),
    Mutation(
        "batch-of-a-lower-run-applied",
        "Offers",
        "A batch of a replaced run is applied.",
        f"{OFFERS}/domain/admission.py",
        before="if key.run < now_heads[key.namespace] or key in now_ended:",
        after="if key in now_ended:",
        tests=(f"{OFFERS_TESTS}/loads/test_apply_requests.py::test_a_run_below_the_head_is_stale",),
    ),
    Mutation(
        "stored-result-not-given-again",
        "Offers",
        "A repeated batch whose result was lost is refused instead of getting the same result.",
        f"{OFFERS}/app/loads/apply_requests.py",
        before="kept = {key: batch.kept for key, batch in applied.items()}",
        after="kept = dict.fromkeys(applied)",
        tests=(
            f"{OFFERS_TESTS}/loads/test_apply_requests.py::test_what_is_sent_again_changes_nothing_and_gets_the_same_results",
        ),
    ),
    Mutation(
        "digest-not-compared",
        "Offers",
        "Different content with the number of an applied batch gets the result of that batch.",
        f"{OFFERS}/domain/admission.py",
        before="if known is None or digest == known else",
        after="if known is None or digest else",
        tests=(f"{OFFERS_TESTS}/loads/test_apply_requests.py::test_other_content_under_the_same_numbers_is_refused",),
    ),
    Mutation(
        "older-outcomes-of-texts-win",
        "Offers",
        "A restored outbox of moderation sends an old outcome after a newer one, and offers applies it.",
        f"{OFFERS}/store/judging.sql",
        before="  AND (o.text_decided_at IS NULL OR o.text_decided_at < n.decided_at)\n",
        after="",
        tests=(
            f"{OFFERS_TESTS}/texts/test_texts.py::"
            "test_outcomes_that_are_repeated_older_or_about_another_text_change_nothing",
        ),
    ),
)
