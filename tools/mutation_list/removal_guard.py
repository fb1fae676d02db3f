"""Guard against mass removal."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import OFFERS, OFFERS_TESTS, PROCESSOR, PROCESSOR_TESTS

MUTATIONS: Final = (
    Mutation(
        "removals-never-held",
        "Guard against mass removal",
        "A load that lacks most offers of its namespace removes them immediately.",
        f"{OFFERS}/domain/completion.py",
        before="    reasons = () if allows_removals else of_removals\n",
        after="    reasons: tuple[HoldReason, ...] = ()\n",
        tests=(f"{OFFERS_TESTS}/loads/test_held_loads.py::test_a_load_without_any_offer_is_held_however_small",),
    ),
    Mutation(
        "loss-measured-by-a-load",
        "Guard against mass removal",
        "Two losses of 49 % within a week remove three quarters of the offers.",
        f"{OFFERS}/domain/completion.py",
        before="        return max(self.before, self.most_before)",
        after="        return self.before",
        tests=(f"{OFFERS_TESTS}/loads/test_held_loads.py::test_half_and_half_again_is_held_within_a_week",),
    ),
    Mutation(
        "added-offers-make-up-for-lost-ones",
        "Guard against mass removal",
        "A load with other ids is held once, and the next similar load removes the old offers.",
        f"{OFFERS}/store/sweeping.sql",
        before="AND created_at <= (SELECT at FROM since)\n",
        after="\n",
        tests=(f"{OFFERS_TESTS}/loads/test_held_loads.py::test_ids_that_changed_stay_held_load_after_load",),
    ),
    Mutation(
        "rejected-load-counts-as-accepted",
        "Guard against mass removal",
        "Offers that a rejected load added compensate for the offers that it lacked.",
        f"{OFFERS}/store/sweeping.sql",
        before="      AND planned_at IS NOT NULL AND decision IS DISTINCT FROM 'REJECT'\n",
        after="      AND planned_at IS NOT NULL\n",
        tests=(f"{OFFERS_TESTS}/loads/test_held_loads.py::test_ids_that_changed_stay_held_load_after_load",),
    ),
    Mutation(
        "sizes-not-forgotten",
        "Guard against mass removal",
        "After a confirmed removal, each load of the week is held again.",
        f"{OFFERS}/app/loads/decide_hold.py",
        before="    await sweeping.forget_sizes(tx, run.namespace)\n",
        after="",
        tests=(f"{OFFERS_TESTS}/loads/test_held_loads.py::test_half_and_half_again_is_held_within_a_week",),
    ),
    Mutation(
        "second-decision-counts",
        "Guard against mass removal",
        "A confirmed load can be rejected afterwards, and the other way round.",
        f"{OFFERS}/store/sweeping.sql",
        before="  AND coalesce(decision, '') NOT IN ('CONFIRM', 'REJECT') AND (outcome = 'HELD' OR",
        after="  AND (outcome IS NOT NULL OR decision IS NOT NULL OR",
        tests=(
            f"{OFFERS_TESTS}/loads/test_held_loads.py::test_the_first_decision_counts",
            f"{OFFERS_TESTS}/loads/test_held_loads.py::test_a_confirmed_sweep_that_is_under_way_is_not_rejected_any_more",
        ),
    ),
    Mutation(
        "decision-beside-a-newer-load",
        "Guard against mass removal",
        "A decision about a held load takes effect although a newer load has started.",
        f"{OFFERS}/app/loads/decide_hold.py",
        before="    if is_held and end.head != run.run:\n",
        after="    if False:\n",
        tests=(f"{OFFERS_TESTS}/loads/test_held_loads.py::test_a_decision_after_a_newer_load_has_begun_is_stale",),
    ),
    Mutation(
        "rejected-slices-kept",
        "Guard against mass removal",
        "Planned changes of a held load are never removed in a namespace that only gets new prices.",
        f"{OFFERS}/app/loads/apply_requests.py",
        before="        await sweeping.drop_plans(tx, key)",
        after="        pass",
        tests=(f"{OFFERS_TESTS}/loads/test_held_loads.py::test_the_end_of_a_newer_load_drops_what_was_held",),
    ),
    Mutation(
        "late-hold-takes-a-decision-back",
        "Guard against mass removal",
        "A repeated reply to the first end holds a task again that was already decided.",
        f"{PROCESSOR}/app/runs/take_results.py",
        before="                if task.status == _HELD or task.decision in _DECIDED:\n",
        after="                if task.status == _HELD:\n",
        tests=(f"{PROCESSOR_TESTS}/tasks/test_held_tasks.py::test_late_replies_do_not_hold_a_decided_task_again",),
    ),
    Mutation(
        "second-decision-at-once-counts",
        "Guard against mass removal",
        "Two different decisions at the same moment both get a job.",
        f"{PROCESSOR}/app/tasks/decide_task.py",
        before="        if state.status != task_pb2.TASK_STATUS_HELD:\n",
        after="        if False:\n",
        tests=(
            f"{PROCESSOR_TESTS}/tasks/test_held_tasks.py::test_a_decision_ends_the_task_and_only_the_first_counts",
            f"{PROCESSOR_TESTS}/tasks/test_held_tasks.py::test_confirm_and_reject_at_once_are_one_decision",
        ),
    ),
    Mutation(
        "decided-task-overtaken",
        "Guard against mass removal",
        "A newer task starts although a held one has been decided at that moment.",
        f"{PROCESSOR}/app/runs/process_feed.py",
        before="            raise Snooze(_EARLIER_S)  # a held task",
        after="            pass  # a held task",
        tests=(
            f"{PROCESSOR_TESTS}/tasks/test_held_tasks.py::test_a_decision_between_two_looks_of_a_newer_task_has_its_turn_first",
        ),
    ),
    Mutation(
        "held-task-without-its-run",
        "Guard against mass removal",
        "A held task whose run was lost by the offers service waits for a job that nothing creates.",
        f"{PROCESSOR}/app/runs/take_results.py",
        before="                if task.status == _HELD:\n                    return  # a held task",
        after="                if False:\n                    return  # a held task",
        tests=(
            f"{PROCESSOR_TESTS}/tasks/test_held_tasks.py::test_a_restored_processor_takes_what_its_owner_replied_to_the_lost_decision",
        ),
    ),
    Mutation(
        "removal-of-a-feed-held",
        "Guard against mass removal",
        "The removal of a feed is held, although a user requested it.",
        f"{PROCESSOR}/app/runs/process_feed.py",
        before="HOLD_DECISION_CONFIRM if state.kind == task_pb2.TASK_KIND_DELETE else state.decision",
        after="state.decision",
        tests=(
            f"{PROCESSOR_TESTS}/tasks/test_held_tasks.py::test_removals_that_are_allowed_beforehand_and_of_a_removed_feed_are_never_held",
        ),
    ),
    Mutation(
        "allowed-removals-held",
        "Guard against mass removal",
        "A load that allows removals is held.",
        f"{PROCESSOR}/app/tasks/create_task.py",
        before="        return HOLD_DECISION_ALLOW_REMOVALS\n",
        after="        return HOLD_DECISION_UNSPECIFIED\n",
        tests=(
            f"{PROCESSOR_TESTS}/tasks/test_held_tasks.py::test_removals_that_are_allowed_beforehand_and_of_a_removed_feed_are_never_held",
        ),
    ),
)
