"""For every RPC: the CPU that a request takes on the event loop before its servicer receives it is bounded."""

from __future__ import annotations

import gc
import time
from typing import Final

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass

from classifeed_common.auth.policy import OPERATOR, REQUEST_LIMIT_BYTES
from classifeed_common.contracts import list_methods
from classifeed_common.errors import InvalidArgument
from classifeed_common.rpc.texts import receive_with
from classifeed_common.rpc.validation import check_received
from classifeed_devkit.testing.measuring.event_loop import LONGEST_S
from classifeed_devkit.testing.measuring.large_requests import largest_requests, requests_of_tiny_items
from classifeed_domain.owner_rules import list_sellers
from classifeed_domain.policy import CALLERS, LARGE_REQUESTS, POLICY

METHODS: Final = dict(list_methods())


async def work_of(descriptor: Descriptor, sent: bytes, limit_bytes: int) -> tuple[float, str]:
    """Return the CPU seconds of the interceptor for a request, and the reason of its refusal."""
    receive = receive_with(GetMessageClass(descriptor).FromString, limit_bytes)
    gc.disable()
    began_s = time.thread_time()
    try:
        request = await check_received(receive(sent))
        set(list_sellers(request))
    except InvalidArgument as error:
        return time.thread_time() - began_s, error.reason
    finally:
        gc.enable()
    return time.thread_time() - began_s, ""


@pytest.mark.parametrize("method", sorted(METHODS.keys() - LARGE_REQUESTS.keys()))
async def test_no_request_holds_the_event_loop_before_its_servicer_sees_it(method: str) -> None:
    descriptor = METHODS[method].input_type
    limit = POLICY.limit_bytes(method)
    assert limit == REQUEST_LIMIT_BYTES
    cases = dict(requests_of_tiny_items(descriptor, limit))
    for name, request in largest_requests(descriptor, limit, text="\0".ljust, values={}):
        cases[name] = request.SerializeToString()
    found = {name: await work_of(descriptor, sent, limit) for name, sent in cases.items()}
    assert {name: took for name, took in found.items() if took[0] > LONGEST_S} == {}
    assert (await work_of(descriptor, bytes(limit + 1), limit))[1] == "REQUEST_TOO_LARGE"


def test_only_services_send_large_requests() -> None:
    assert {method for method in LARGE_REQUESTS if OPERATOR in CALLERS[method]} == set()
