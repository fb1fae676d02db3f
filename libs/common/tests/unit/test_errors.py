from __future__ import annotations

import json
import time
from contextvars import copy_context

import grpc
import grpc.aio
import psycopg
import pytest
from google.rpc import error_details_pb2, status_pb2

from classifeed_common import errors
from classifeed_common.errors import KINDS, DomainError, FieldViolation, InvalidArgument, Unavailable, kind_of
from classifeed_common.http.problems import problem_of
from classifeed_common.rpc.call import Peer, bounded_timeout_s, enter_call
from classifeed_common.rpc.faults import explain
from classifeed_common.rpc.status import DETAILS_KEY, from_rpc_error, from_upstream, to_status


def received(error: DomainError) -> grpc.aio.AioRpcError:
    status = to_status(error)
    code = grpc.StatusCode[kind_of(error)[0]]
    trailers = grpc.aio.Metadata((DETAILS_KEY, status.SerializeToString()))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailers, details=status.message)


def every_kind() -> list[type[DomainError]]:
    return [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, DomainError)]


def test_every_kind_has_a_place_in_the_table_and_no_two_share_a_code() -> None:
    assert set(KINDS) == set(every_kind()) - {DomainError}
    assert len({code for code, _ in KINDS.values()}) == len(KINDS)


def test_a_subclass_is_mapped_like_its_parent() -> None:
    class ClaimLost(errors.Aborted):
        pass

    assert kind_of(ClaimLost("CLAIM_LOST", "gone")) == ("ABORTED", 409)


def test_an_error_goes_out_and_comes_in_whole() -> None:
    sent = InvalidArgument(
        "FIELD_BAD",
        "Поле неверно. Исправьте его.",
        metadata={"id": "7"},
        violations=[FieldViolation("offers[0].title", "is empty")],
        retry_after_s=1.5,
    )
    got = from_rpc_error(received(sent))
    assert type(got) is InvalidArgument
    assert vars(got) == vars(sent)


def test_a_status_fits_into_trailers_however_much_is_wrong() -> None:
    """A client accepts 8 KiB of trailers; they have the message twice, once percent-encoded."""
    violations = [FieldViolation(f"items[{n}].title", "слишком длинно " * 40) for n in range(500)]
    status = to_status(InvalidArgument("MANY", "плохо " * 1000, metadata={"big": "x" * 9000}, violations=violations))
    assert status.ByteSize() + 3 * len(status.message.encode()) < 7_500
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    bad = error_details_pb2.BadRequest()
    assert status.details[1].Unpack(bad)
    assert int(info.metadata["violations_left_out"]) == 500 - len(bad.field_violations)
    assert len(bad.field_violations) > 0


def test_a_status_of_a_stranger_is_understood() -> None:
    bare = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), details="broken")
    error = from_rpc_error(bare)
    assert type(error) is Unavailable
    assert (error.reason, error.message) == ("UPSTREAM_UNAVAILABLE", "broken")
    garbled = grpc.aio.AioRpcError(
        grpc.StatusCode.ABORTED, grpc.aio.Metadata(), grpc.aio.Metadata((DETAILS_KEY, b"\xff\xff")), details="?"
    )
    assert from_rpc_error(garbled).reason == "UPSTREAM_ABORTED"


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (grpc.StatusCode.UNAVAILABLE, Unavailable, "processor at h:1 does not respond. Try again. (broken)"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, errors.DeadlineExceeded, "processor at h:1 did not respond in time."),
    ],
)
def test_a_service_behind_ours_that_is_away_or_silent_is_named(
    code: grpc.StatusCode, kind: type[DomainError], words: str
) -> None:
    def check() -> None:
        began_s = time.monotonic()
        call = enter_call("/m", caller="operator", request_id="1", time_left_s=10)
        left_s = bounded_timeout_s(None)
        took_s = time.monotonic() - began_s  # long, if the machine is paused
        assert left_s is not None
        assert 9.5 - took_s <= left_s <= 9.5, "there is time left to say that it gave no answer"
        assert bounded_timeout_s(1) == 1
        call.peers[:] = [Peer("processor", "h:1")]
        shown = explain(grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details="broken"), "/m")
        assert type(shown) is kind
        assert shown.message.startswith(words)
        assert shown.metadata == {"service": "processor", "address": "h:1"}
        known = explain(received(errors.Unavailable("DATABASE_UNAVAILABLE", "No database.")), "/m")
        assert (known.reason, known.message) == ("DATABASE_UNAVAILABLE", "No database."), "it says itself what it lacks"

    copy_context().run(check)


@pytest.mark.parametrize("kind", [errors.Unauthenticated, errors.PermissionDenied, errors.Unimplemented])
def test_that_we_were_refused_is_not_reported_as_if_the_caller_was(kind: type[DomainError]) -> None:
    shown = from_upstream(received(kind("TICKET_EXPIRED", "expired")))
    assert type(shown) is errors.Internal
    assert shown.metadata["upstream_reason"] == "TICKET_EXPIRED"


def test_what_concerns_the_request_passes_through() -> None:
    shown = from_upstream(received(errors.NotFound("TASK_NOT_FOUND", "There is no task 7.")))
    assert (type(shown), shown.reason) == (errors.NotFound, "TASK_NOT_FOUND")


def test_faults_of_ours_are_explained_without_their_cause() -> None:
    shown = explain(RuntimeError("password=hunter2"), "GetOffer")
    assert type(shown) is errors.Internal
    assert "hunter2" not in str(shown)
    assert shown.metadata["incident"] in shown.message
    assert type(explain(psycopg.OperationalError("connection lost"), "GetOffer")) is Unavailable
    assert type(explain(NotImplementedError(), "GetOffer")) is errors.Unimplemented
    assert type(explain(TimeoutError(), "GetOffer")) is errors.DeadlineExceeded


def test_problem_documents_say_the_same_on_http() -> None:
    response = problem_of(
        errors.ResourceExhausted(
            "QUOTA", "Too much. Wait.", retry_after_s=0.2, violations=[FieldViolation("size", "too large")]
        ),
        instance="/upload",
    )
    body = json.loads(bytes(response.body))
    assert response.status_code == body["status"] == 429
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["retry-after"] == "1"
    assert (body["type"], body["detail"]) == ("urn:classifeed:error:QUOTA", "Too much. Wait.")
    assert body["violations"] == [{"field": "size", "description": "too large"}]


def test_the_code_of_a_status_is_that_of_the_table() -> None:
    for kind, (code, _) in KINDS.items():
        status: status_pb2.Status = to_status(kind("REASON", "words"))
        assert status.code == grpc.StatusCode[code].value[0]
