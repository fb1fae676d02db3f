"""Guards against mass removal and wrong prices."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import OFFERS, OFFERS_TESTS, PROCESSOR, PROCESSOR_TESTS

MUTATIONS: Final = (
    Mutation(
        "removals-never-held",
        "A load that lacks most offers of its namespace removes them immediately.",
        f"{OFFERS}/domain/completion.py",
        before="    reasons = () if allows_removals else of_removals\n",
        after="    reasons: tuple[HoldReason, ...] = ()\n",
        tests=(
            f"{OFFERS_TESTS}/integration/loads/test_held_loads.py::test_a_load_without_any_offer_is_held_however_small",
        ),
    ),
    Mutation(
        "decision-beside-a-newer-load",
        "A decision about a held load takes effect although a newer load has started.",
        f"{OFFERS}/app/loads/decide_hold.py",
        before="    if is_held and end.head != run.run:\n",
        after="    if False:\n",
        tests=(
            f"{OFFERS_TESTS}/integration/loads/test_held_loads.py"
            "::test_a_decision_after_a_newer_load_has_begun_is_stale",
        ),
    ),
    Mutation(
        "second-decision-at-once-counts",
        "Two different decisions at the same moment both get a job.",
        f"{PROCESSOR}/app/tasks/decide_task.py",
        before="        if state.status != task_pb2.TASK_STATUS_HELD:\n",
        after="        if False:\n",
        tests=(
            f"{PROCESSOR_TESTS}/integration/tasks/test_held_tasks.py"
            "::test_a_decision_ends_the_task_and_only_the_first_counts",
            f"{PROCESSOR_TESTS}/integration/tasks/test_held_tasks.py::test_confirm_and_reject_at_once_are_one_decision",
        ),
    ),
    Mutation(
        "prices-never-wait",
        "Prices ten times too high are in the search before a decision.",
        f"{OFFERS}/domain/completion.py",
        before="        if shift.moves_price(self.price_factor):\n",
        after="        if False:\n",
        tests=(
            f"{OFFERS_TESTS}/integration/loads/test_held_changes.py"
            "::test_an_ordinary_load_makes_its_few_far_changes_at_the_end",
        ),
    ),
    Mutation(
        "change-made-over-another",
        "A held change is applied although its offer has changed meanwhile.",
        f"{OFFERS}/store/waiting.sql",
        before="AND o.content_hash = t.before_hash AND",
        after="AND",
        tests=(
            f"{OFFERS_TESTS}/integration/loads/test_held_changes.py"
            "::test_an_offer_that_has_become_another_meanwhile_stays",
        ),
    ),
)
