"""Wrong implementations of applying and sweeping; the model of `test_histories` detects each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pytest

from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed_common.db import Tx
from classifeed_offers.app.loads import apply_requests as apply_module
from classifeed_offers.domain import admission
from classifeed_offers.domain import decide as decide_module
from classifeed_offers.domain import effects as effects_module
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.completion import Wholeness
from classifeed_offers.domain.offers import Namespace, OfferState, Run
from classifeed_offers.store import applying, sweeping, waiting

_BY_LAST_TASK = sweeping._PLAN_SLICES.replace(
    sweeping._PLAN_SLICES[
        sweeping._PLAN_SLICES.index("SELECT offer_id FROM present") : sweeping._PLAN_SLICES.index(") AS unseen")
    ],
    "SELECT p.offer_id FROM present p JOIN offers o USING (offer_id) WHERE o.last_task_id <> %(task)s",
)


def remove_what_this_task_did_not_write(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sweeping, "_PLAN_SLICES", _BY_LAST_TASK)


def apply_without_looking_at_the_head(patch: pytest.MonkeyPatch) -> None:
    def without_heads(
        requests: Sequence[admission.Request],
        heads: Mapping[Namespace, Run],
        applied: Mapping[admission.BatchKey, bytes],
        ended: Mapping[RunKey, bytes | None],
    ) -> tuple[list[admission.Admission], dict[Namespace, Run]]:
        return admission.admit(requests, dict.fromkeys(heads, Run(0, 0)), applied, ended)

    patch.setattr(apply_module, "admit", without_heads)


def finish_with_a_missing_batch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(apply_module, "check_whole", lambda end, batches: Wholeness(whole=True, missing=[]))


def sweep_without_looking_at_the_head(patch: pytest.MonkeyPatch) -> None:
    real = sweeping.lock_end

    async def lock_end(tx: Tx, key: RunKey) -> sweeping.End | None:
        end = await real(tx, key)
        return end and end._replace(head=key.run)

    patch.setattr(sweeping, "lock_end", lock_end)


def forget_offers_with_errors(patch: pytest.MonkeyPatch) -> None:
    real = decide_module.decide

    def decide(record: OfferRecord, *args: Any, **kwargs: Any) -> decide_module.Decision:
        decision = real(record, *args, **kwargs)
        return decision._replace(seen=decision.seen and not record.errors)

    patch.setattr(effects_module, "decide", decide)


def count_a_rerun_as_unchanged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        decide_module, "_outcome_of_unwritten", lambda existing, task_id: decide_module.RecordOutcome.UNCHANGED
    )


def write_what_did_not_change(patch: pytest.MonkeyPatch) -> None:
    real = applying.list_offers

    async def list_offers(*args: Any, **kwargs: Any) -> dict[str, OfferState]:
        return {name: state._replace(content_hash=b"") for name, state in (await real(*args, **kwargs)).items()}

    patch.setattr(applying, "list_offers", list_offers)


def make_changes_of_any_run(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        waiting,
        "_MAKE_CHANGES",
        waiting._MAKE_CHANGES.replace("AND task_id = %(task)s AND run = %(run)s\n          ORDER", "ORDER"),
    )


NAIVE_WAYS: Final[Sequence[Callable[[pytest.MonkeyPatch], None]]] = [
    finish_with_a_missing_batch,
    apply_without_looking_at_the_head,
    remove_what_this_task_did_not_write,
    sweep_without_looking_at_the_head,
    forget_offers_with_errors,
    count_a_rerun_as_unchanged,
    write_what_did_not_change,
    make_changes_of_any_run,
]
