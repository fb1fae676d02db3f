"""Conversion of exceptions of a servicer into errors for the caller."""

from __future__ import annotations

from typing import Final

import grpc.aio
import structlog

from classifeed_common.db.faults import is_passing_fault, is_unstorable_text
from classifeed_common.errors import (
    DeadlineExceeded,
    DomainError,
    Internal,
    InvalidArgument,
    Unavailable,
    Unimplemented,
)
from classifeed_common.ids import new_incident
from classifeed_common.rpc.call import current_call, remaining_s
from classifeed_common.rpc.status import deadline_exceeded, from_upstream
from classifeed_common.telemetry.fault_log import log_fault

_log = structlog.get_logger("rpc")
# Reasons of statuses that none of our services sent: gRPC's own reports about a connection.
_AWAY: Final = frozenset({"UPSTREAM_UNAVAILABLE", "UPSTREAM_DEADLINE_EXCEEDED"})


def explain(error: Exception, where: str) -> DomainError:
    """Return the error for the caller; faults of ours are logged under an incident id, which the caller gets."""
    if isinstance(error, DomainError):
        _log.info("rpc.call.refused", reason=error.reason, where=where)
        return error
    if isinstance(error, NotImplementedError):
        return Unimplemented(
            "METHOD_NOT_IMPLEMENTED", f"{where} is in the contract, but this service does not implement it yet."
        )
    if isinstance(error, TimeoutError) or remaining_s() == 0:
        return deadline_exceeded()
    if is_passing_fault(error):
        log_fault(_log, "rpc.database.away", error, where=where)
        return Unavailable(
            "DATABASE_UNAVAILABLE", "The database of this service does not respond. Try again.", retry_after_s=1
        )
    if isinstance(error, grpc.aio.AioRpcError):
        passed_on = from_upstream(error)
        if isinstance(passed_on, Internal):
            _log.error("rpc.upstream.refused", where=where, code=error.code().name, details=error.details())
        return _naming_the_peer(passed_on)
    if is_unstorable_text(error):
        # Stored texts have no such character, so the text came with the request. Entry points for batches check their
        # items themselves, so that one wrong text does not refuse the others.
        _log.info("rpc.text.refused", where=where, error=str(error))
        return InvalidArgument(
            "TEXT_UNSTORABLE",
            "A text of the request contains the character NUL (U+0000) or half a surrogate pair, which cannot be "
            "stored. Remove it and send the request again.",
        )
    incident = new_incident()
    _log.error("rpc.call.failed", where=where, incident=incident, exc_info=error)
    return Internal(
        "INTERNAL",
        f"The service failed; the request may be valid. The log of the service explains incident {incident}.",
        metadata={"incident": incident},
    )


def _naming_the_peer(error: DomainError) -> DomainError:
    """Add the name of a called service that is away or silent to its error; return other errors unchanged."""
    call = current_call()
    if call is None or not call.peers or error.reason not in _AWAY:
        return error
    peer = call.peers[-1]
    is_silent = isinstance(error, DeadlineExceeded)
    away = f"{peer} does not respond. Try again. ({error.message})"
    error.message = f"{peer} did not respond in time. Try again." if is_silent else away
    error.metadata = {"service": peer.service, "address": peer.address}
    return error
