"""Records that the consumer of results accepts, and records that it sends to the dead letters."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed.feeds.v1 import offer_results_pb2
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.offer_results_pb2 import OfferBatchResult, RunCheckResult, TaskEndResult
from classifeed_common.kafka import Poison, Record, message_of
from classifeed_processor.consumers.results import decode_result

_ADDRESS: dict[str, Any] = {"seller_id": "s", "namespace": "n", "task_id": 1, "run": 1}
Kind = type[OfferBatchResult] | type[TaskEndResult]
_ENUMS: dict[Kind, type[offer_results_pb2.BatchOutcome] | type[offer_results_pb2.TaskEndOutcome]] = {
    OfferBatchResult: offer_results_pb2.BatchOutcome,
    TaskEndResult: offer_results_pb2.TaskEndOutcome,
}


def record_of(result: OfferBatchResult | TaskEndResult | RunCheckResult) -> Record:
    message = message_of("results", b"s", result)
    return Record("results", 0, 7, message.key, message.value, message.headers, 0)


@pytest.mark.parametrize("kind", _ENUMS)
def test_every_outcome_of_the_contract_is_taken(kind: Kind) -> None:
    for name, outcome in _ENUMS[kind].items():
        if not outcome:
            continue
        decoded = decode_result(record_of(kind(**_ADDRESS, outcome=name)))
        assert isinstance(decoded, kind)
        assert decoded.outcome == outcome


@pytest.mark.parametrize("outcome", [0, 77, -1])
@pytest.mark.parametrize("kind", _ENUMS)
def test_an_unknown_outcome_is_a_dead_letter_that_says_so(kind: Kind, outcome: int) -> None:
    with pytest.raises(Poison, match=f"has outcome {outcome}, which is unknown to this version"):
        decode_result(record_of(kind(**_ADDRESS, outcome=outcome)))  # type: ignore[arg-type]


def test_a_check_has_no_outcome() -> None:
    decoded = decode_result(record_of(RunCheckResult(**_ADDRESS, last_batch_id=3)))
    assert isinstance(decoded, RunCheckResult)
    assert decoded.last_batch_id == 3


def test_no_text_of_an_issue_keeps_a_nul() -> None:
    texts = [field.name for field in OfferError.DESCRIPTOR.fields if field.cpp_type == field.CPPTYPE_STRING]
    issue = OfferError()
    for name in texts:
        if not OfferError.DESCRIPTOR.fields_by_name[name].is_repeated:
            setattr(issue, name, "a\0b")
    result = OfferBatchResult(**_ADDRESS, outcome=offer_results_pb2.BATCH_OUTCOME_REFUSED, reason="x\0", errors=[issue])
    decoded = decode_result(record_of(result))
    assert isinstance(decoded, OfferBatchResult)
    assert b"\0" not in decoded.SerializeToString()
    assert decoded.errors[0].excerpt == "a\ufffdb"
