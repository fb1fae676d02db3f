"""Owners of pictures: recipients, comparisons and deletions."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import PICTURES, PICTURES_TESTS

_LIFE: Final = f"{PICTURES}/domain/lifecycle/lifecycle.py"
_RECIPIENTS: Final = f"{PICTURES_TESTS}/unit/domain/lifecycle/test_recipients.py"
_COMPARING: Final = f"{PICTURES_TESTS}/integration/states/test_comparing.py"
_PROCESSING: Final = f"{PICTURES_TESTS}/integration/events/test_processing.py"

MUTATIONS: Final = (
    Mutation(
        "pictures-of-others-compared",
        "Pictures",
        "A comparison with offers marks pictures as unused that another recipient has requested.",
        f"{PICTURES}/store/states/comparisons.sql",
        before="FROM settled_requests r WHERE r.url_hash = p.url_hash AND r.client <> 'offers')",
        after="FROM settled_requests r WHERE r.url_hash = p.url_hash AND false)",
        tests=(f"{_COMPARING}::test_what_others_than_offers_have_requested_is_not_compared",),
    ),
    Mutation(
        "pictures-of-unknown-recipients-compared",
        "Pictures",
        "A comparison deletes pictures from before the introduction of recipients.",
        f"{PICTURES}/domain/lifecycle/recipients.py",
        before=" and known.issuperset(held)",
        after="",
        tests=(
            f"{_RECIPIENTS}::test_comparisons_keep_what_is_held_for_unknown_recipients",
            f"{_RECIPIENTS}::test_a_namespace_without_a_known_recipient_keeps_the_picture",
        ),
    ),
    Mutation(
        "shard-trusts-the-comparison",
        "Pictures",
        "A recipient that is added during a comparison loses its picture.",
        _LIFE,
        before="        if not are_only_offers(self._recipients, held):\n            return\n",
        after="",
        tests=(f"{_RECIPIENTS}::test_a_recipient_that_came_after_the_mark_keeps_the_picture",),
    ),
    Mutation(
        "recipients-not-told-of-a-deletion",
        "Pictures",
        "A comparison deletes a picture, and its recipients keep an invalid address.",
        f"{PICTURES}/domain/lifecycle/effects.py",
        before="        self.waiting[namespace] = self.changed[namespace] = WaitingResult(attempt, failure)\n",
        after="",
        tests=(
            f"{_RECIPIENTS}::test_a_comparison_that_deletes_sends_the_result_to_all_who_have_the_picture",
            f"{_PROCESSING}::test_two_comparisons_delete_state_requests_and_picture",
        ),
    ),
    Mutation(
        "giving-up-deletes-for-all",
        "Pictures",
        "A recipient that gives up a picture deletes it for recipients that still need it.",
        _LIFE,
        before="            if state.is_put or namespace in needed:",
        after="            if state.is_put:",
        tests=(f"{_RECIPIENTS}::test_a_recipient_that_gives_up_deletes_nothing_that_others_need",),
    ),
    Mutation(
        "client-lost-on-its-way-to-settled",
        "Pictures",
        "Waiting requests are settled without their client, so no comparison ever deletes their pictures.",
        f"{PICTURES}/store/states/requests.py",
        before="row.requested_url, row.requested_at, row.client),",
        after="row.requested_url, row.requested_at),",
        tests=(f"{_PROCESSING}::test_two_comparisons_delete_state_requests_and_picture",),
    ),
    Mutation(
        "given-up-requests-settled-again",
        "Pictures",
        "A recipient that gives up in the poll of its picture is stored as its owner.",
        f"{PICTURES}/app/events/process_events.py",
        before=" for place, request in taken if (*place, request.recipient) not in given_up]",
        after=" for place, request in taken]",
        tests=(f"{_PROCESSING}::test_requests_that_wait_or_are_settled_in_the_same_poll_end_with_their_recipient",),
    ),
)
