"""PicturesService over a real channel, with the policy of the suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc.aio
import pytest

from classifeed.pictures.v1.pictures_service_pb2 import GetVersionRequest
from classifeed.pictures.v1.pictures_service_pb2_grpc import (
    PicturesServiceStub,
    add_PicturesServiceServicer_to_server,
)
from classifeed_common.rpc.server import Servicer
from classifeed_pictures.rpc.pictures_service import PicturesService


@pytest.fixture
async def target(rpc_server: Any) -> str:
    servicer = Servicer.of(add_PicturesServiceServicer_to_server, PicturesService("1.2.3"))
    found: str = await rpc_server("pictures", servicer)
    return found


async def test_operators_are_told_the_version(target: str, rpc_channel: Callable[..., Any]) -> None:
    stub = PicturesServiceStub(rpc_channel(target, caller="operator", audience="pictures"))
    assert (await stub.GetVersion(GetVersionRequest())).version == "1.2.3"


async def test_others_are_refused(target: str, rpc_channel: Callable[..., Any]) -> None:
    stub = PicturesServiceStub(rpc_channel(target, caller="searcher", audience="pictures"))
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stub.GetVersion(GetVersionRequest())
    assert raised.value.code() == grpc.StatusCode.PERMISSION_DENIED
