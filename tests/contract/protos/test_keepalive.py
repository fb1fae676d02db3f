"""The client library is installed without the suite, so it repeats the keepalive options of the suite's channels."""

from __future__ import annotations

from classifeed_client.connection import OPTIONS
from classifeed_common.rpc.keepalive import KEEPALIVE

BETWEEN_CALLS = "grpc.keepalive_permit_without_calls"  # a command ends with its last call


def test_the_public_client_notices_a_silent_service_as_the_suite_does() -> None:
    ours = dict(KEEPALIVE)
    del ours[BETWEEN_CALLS]
    assert ours.items() <= dict(OPTIONS).items()
