"""Guard against wrong prices."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import OFFERS, OFFERS_TESTS, PROCESSOR, PROCESSOR_TESTS

MUTATIONS: Final = (
    Mutation(
        "prices-never-wait",
        "Guard against wrong prices",
        "Prices ten times too high are in the search before a decision.",
        f"{OFFERS}/domain/completion.py",
        before="        if shift.moves_price(self.price_factor):\n",
        after="        if False:\n",
        tests=(
            f"{OFFERS_TESTS}/loads/test_held_changes.py::test_an_ordinary_load_makes_its_few_far_changes_at_the_end",
        ),
    ),
    Mutation(
        "half-of-the-prices-is-enough",
        "Guard against wrong prices",
        "A load is held although the median of its changed prices has moved little.",
        f"{OFFERS}/domain/completion.py",
        before="changes.moved * 2 > changes.prices",
        after="changes.moved * 2 >= changes.prices",
        tests=(f"{OFFERS_TESTS}/loads/test_held_changes.py::test_the_median_of_the_changed_prices_decides",),
    ),
    Mutation(
        "allowed-removals-allow-prices",
        "Guard against wrong prices",
        "A load that allows removals is not held for wrong prices.",
        f"{OFFERS}/domain/completion.py",
        before="    allows_changes = decision in {HOLD_DECISION_CONFIRM, ",
        after="    allows_changes = decision in {HOLD_DECISION_CONFIRM, HOLD_DECISION_ALLOW_REMOVALS, ",
        tests=(f"{OFFERS_TESTS}/loads/test_held_changes.py::test_what_was_allowed_beforehand_is_no_reason",),
    ),
    Mutation(
        "prices-of-an-earlier-run-forgotten",
        "Guard against wrong prices",
        "An ordinary load that is sent again is held, since only its large changes are left.",
        f"{OFFERS}/store/waiting.sql",
        before="AND task_id = %(task)s AND run <= %(run)s",
        after="AND task_id = %(task)s AND run = %(run)s",
        tests=(
            f"{OFFERS_TESTS}/loads/test_held_changes.py::test_an_ordinary_load_that_runs_again_is_no_more_held_than_at_first",
        ),
    ),
    Mutation(
        "held-although-one-is-available",
        "Guard against wrong prices",
        "A load is held for having no available offers, although one is available.",
        f"{OFFERS}/store/waiting.py",
        before="0 if has_available else turned",
        after="turned",
        tests=(f"{OFFERS_TESTS}/loads/test_held_changes.py::test_nothing_available_any_more",),
    ),
    Mutation(
        "change-made-over-another",
        "Guard against wrong prices",
        "A held change is applied although its offer has changed meanwhile.",
        f"{OFFERS}/store/waiting.sql",
        before="AND o.content_hash = t.before_hash AND",
        after="AND",
        tests=(f"{OFFERS_TESTS}/loads/test_held_changes.py::test_an_offer_that_has_become_another_meanwhile_stays",),
    ),
    Mutation(
        "changes-of-an-overtaken-load-made",
        "Guard against wrong prices",
        "Held changes of a load are applied at the end of the newer load that replaced it.",
        f"{OFFERS}/store/waiting.sql",
        before="AND task_id = %(task)s AND run = %(run)s\n          ORDER BY offer_id",
        after="\n          ORDER BY offer_id",
        tests=(f"{OFFERS_TESTS}/loads/test_held_changes.py::test_a_newer_load_takes_the_place_of_what_waits",),
    ),
    Mutation(
        "waiting-changes-cleaned-up",
        "Guard against wrong prices",
        "The clean-up removes changes that wait for a decision.",
        f"{OFFERS}/store/cleaning.sql",
        before="OR e.outcome IN ('COMPLETED', 'INCOMPLETE', 'STALE')",
        after="OR e.outcome IS NOT NULL",
        tests=(f"{OFFERS_TESTS}/loads/test_held_changes.py::test_what_nobody_waits_for_is_cleaned_up",),
    ),
    Mutation(
        "rejected-change-shown-as-waiting",
        "Guard against wrong prices",
        "An offer is reported as waiting for a decision that was made.",
        f"{OFFERS}/store/reading.sql",
        before="AND coalesce(e.outcome, 'HELD') = 'HELD'",
        after="",
        tests=(
            f"{OFFERS_TESTS}/rpc/test_offer_service.py::test_a_change_that_waits_is_shown_until_it_is_decided_about",
        ),
    ),
    Mutation(
        "made-changes-stay-skipped",
        "Guard against wrong prices",
        "The statistics of a load count changes as skipped that were applied at its end.",
        f"{PROCESSOR}/app/runs/take_results.py",
        before="        add_changed(statistics, reply.changed)\n",
        after="",
        tests=(f"{PROCESSOR_TESTS}/tasks/test_held_tasks.py::test_changes_that_wait_are_skipped_until_they_are_made",),
    ),
    Mutation(
        "allowed-load-never-held",
        "Guard against wrong prices",
        "A load that allows removals waits for ever if it is held for its prices.",
        f"{PROCESSOR}/app/runs/take_results.py",
        before="task.decision in _DECIDED:\n",
        after="task.decision:\n",
        tests=(f"{PROCESSOR_TESTS}/tasks/test_held_tasks.py::test_what_was_allowed_is_not_what_the_load_is_held_for",),
    ),
)
