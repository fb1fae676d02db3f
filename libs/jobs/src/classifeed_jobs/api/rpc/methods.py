"""What the methods of JobService work with. Each family of them is a class; JobService is all of them."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc.aio

from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceServicer
from classifeed_common.rpc.call import current_call
from classifeed_jobs.admin.admin import JobAdmin

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]


class Methods(JobServiceServicer):
    """A family of methods: each translates and calls."""

    def __init__(self, admin: JobAdmin) -> None:
        self._admin = admin


def caller_name() -> str:
    """Return who asks."""
    call = current_call()
    return call.caller if call is not None else "-"
