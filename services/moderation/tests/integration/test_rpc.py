"""ModerationService over a real channel, with the policy of the suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc.aio
import pytest

from classifeed.moderation.v1.moderation_service_pb2 import GetVersionRequest
from classifeed.moderation.v1.moderation_service_pb2_grpc import (
    ModerationServiceStub,
    add_ModerationServiceServicer_to_server,
)
from classifeed_common.rpc.server import Servicer
from classifeed_moderation.rpc.moderation_service import ModerationService


@pytest.fixture
async def target(rpc_server: Any) -> str:
    servicer = Servicer.of(add_ModerationServiceServicer_to_server, ModerationService("1.2.3"))
    found: str = await rpc_server("moderation", servicer)
    return found


async def test_operators_are_told_the_version(target: str, rpc_channel: Callable[..., Any]) -> None:
    stub = ModerationServiceStub(rpc_channel(target, caller="operator", audience="moderation"))
    assert (await stub.GetVersion(GetVersionRequest())).version == "1.2.3"


async def test_others_are_refused(target: str, rpc_channel: Callable[..., Any]) -> None:
    stub = ModerationServiceStub(rpc_channel(target, caller="searcher", audience="moderation"))
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stub.GetVersion(GetVersionRequest())
    assert raised.value.code() == grpc.StatusCode.PERMISSION_DENIED
