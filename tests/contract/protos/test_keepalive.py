"""The client of the public APIs is installed without the suite, so it repeats what the suite's own channels have."""

from __future__ import annotations

from classifeed_client.connection import OPTIONS
from classifeed_common.rpc.keepalive import KEEPALIVE

BETWEEN_CALLS = "grpc.keepalive_permit_without_calls"  # a command ends with its last call


def test_the_public_client_notices_a_silent_service_as_the_suite_does() -> None:
    ours = dict(KEEPALIVE)
    del ours[BETWEEN_CALLS]
    assert ours.items() <= dict(OPTIONS).items()
