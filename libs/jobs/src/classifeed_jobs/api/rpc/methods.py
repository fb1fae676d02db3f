"""Helpers that the methods of JobService share."""

from __future__ import annotations

from classifeed_common.rpc.call import current_call


def caller_name() -> str:
    """Return the name of the current call's caller; "-" outside of a call."""
    call = current_call()
    return call.caller if call is not None else "-"
