"""What the families of methods of JobService have in common."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc.aio

from classifeed_common.rpc.call import current_call

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]


def caller_name() -> str:
    """Return who calls."""
    call = current_call()
    return call.caller if call is not None else "-"
