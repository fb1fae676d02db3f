"""Calls for pictures, by both clients, over a real channel to a servicer in this process."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
import pytest_asyncio

from classifeed.pictures.v1 import picture_pb2, picture_service_pb2
from classifeed.pictures.v1.picture_service_pb2_grpc import (
    PictureServiceServicer,
    add_PictureServiceServicer_to_server,
)
from classifeed_client import PICTURE_SERVICES, PictureClient, Refused, aio

MIB = 1 << 20


class PictureService(PictureServiceServicer):
    """Records every request, and knows the URLs that begin with `known`."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.pieces: list[picture_service_pb2.PutPictureRequest] = []

    async def GetState(self, request: Any, context: Any) -> picture_pb2.PictureState:
        if not request.url.startswith("known"):
            await context.abort(grpc.StatusCode.NOT_FOUND, "Nothing is known of it.")
        return picture_pb2.PictureState(url=request.url, known=True)

    async def BatchGetStates(self, request: Any, context: Any) -> picture_pb2.PictureStateBatch:
        states = [picture_pb2.PictureState(url=url, known=url.startswith("known")) for url in request.urls]
        return picture_pb2.PictureStateBatch(states=states)

    async def PutPicture(self, requests: AsyncIterator[Any], context: Any) -> picture_pb2.PictureInfo:
        self.pieces = [request async for request in requests]
        if not any(piece.data for piece in self.pieces):
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The picture is empty.")
        return picture_pb2.PictureInfo(namespace=self.pieces[0].namespace, name="a1")

    async def RequestPictures(self, request: Any, context: Any) -> picture_service_pb2.RequestPicturesResponse:
        self.requests.append(request)
        return picture_service_pb2.RequestPicturesResponse()

    async def LookAgain(self, request: Any, context: Any) -> picture_service_pb2.LookAgainResponse:
        self.requests.append(request)
        return picture_service_pb2.LookAgainResponse()

    async def DeletePictures(self, request: Any, context: Any) -> picture_service_pb2.DeletePicturesResponse:
        self.requests.append(request)
        return picture_service_pb2.DeletePicturesResponse()

    async def ListSimilar(self, request: Any, context: Any) -> picture_service_pb2.ListSimilarResponse:
        if not request.url.startswith("known"):
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "It is not stored.")
        self.requests.append(request)
        number = int(request.page_token or 0)
        return picture_service_pb2.ListSimilarResponse(
            pictures=[picture_service_pb2.SimilarPicture(url=f"copy/{number}", distance=number)],
            next_page_token="1" if number == 0 else "",
        )

    async def PutNamespace(self, request: Any, context: Any) -> picture_service_pb2.PictureNamespace:
        self.requests.append(request)
        return request.namespace  # type: ignore[no-any-return]

    async def ListNamespaces(self, request: Any, context: Any) -> picture_service_pb2.ListNamespacesResponse:
        names = ("offers", "shops")
        return picture_service_pb2.ListNamespacesResponse(
            namespaces=[picture_service_pb2.PictureNamespace(name=name) for name in names]
        )

    async def ListComparisons(self, request: Any, context: Any) -> picture_service_pb2.ListComparisonsResponse:
        held = picture_service_pb2.Comparison(comparison_id=7, state="COMPARISON_STATE_HELD")
        return picture_service_pb2.ListComparisonsResponse(comparisons=[held])

    async def ConfirmComparison(self, request: Any, context: Any) -> picture_service_pb2.Comparison:
        if request.comparison_id != 7:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "It is not held.")
        return picture_service_pb2.Comparison(comparison_id=7, state="COMPARISON_STATE_RUNNING")

    async def ListBackups(self, request: Any, context: Any) -> picture_service_pb2.ListBackupsResponse:
        return picture_service_pb2.ListBackupsResponse(backups=[picture_service_pb2.Backup(name="20261125")])

    async def RestoreBackup(self, request: Any, context: Any) -> picture_service_pb2.RestoreBackupResponse:
        return picture_service_pb2.RestoreBackupResponse(name=request.name or "newest", job_id="j")


class Calls:
    """One client or the other, called the same way."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def __call__(self, method: str, *values: Any) -> Any:
        called = getattr(self._client, method)
        return await (called(*values) if inspect.iscoroutinefunction(called) else asyncio.to_thread(called, *values))

    async def close(self) -> None:
        closed = self._client.close()
        if closed is not None:
            await closed


@pytest_asyncio.fixture
async def service() -> AsyncIterator[tuple[PictureService, str]]:
    service, server = PictureService(), grpc.aio.server()
    add_PictureServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield service, f"127.0.0.1:{port}"
    await server.stop(0)


@pytest_asyncio.fixture(params=[PictureClient, aio.PictureClient])
async def calls(request: pytest.FixtureRequest, service: tuple[PictureService, str]) -> AsyncIterator[Calls]:
    made = Calls(request.param(dict.fromkeys(PICTURE_SERVICES, service[1]), lambda: "t", timeout_s=20))
    yield made
    await made.close()


async def test_states_are_returned_in_the_order_of_the_urls(calls: Calls) -> None:
    assert (await calls("get_state", "known/1")).url == "known/1"
    states = await calls("get_states", ["known/1", "other", "known/2"])
    assert [(state.url, state.known) for state in states] == [("known/1", True), ("other", False), ("known/2", True)]
    with pytest.raises(Refused):
        await calls("get_state", "other")


async def test_a_picture_is_sent_in_pieces(calls: Calls, service: tuple[PictureService, str], tmp_path: Path) -> None:
    """From memory and from a file; only the first piece has the metadata."""
    data = bytes(range(256)) * (MIB // 256 * 2) + b"end"
    file = tmp_path / "1.jpg"
    file.write_bytes(data)
    for picture in (data, file):
        info = await calls("put", "key/1", picture, "offers")
        assert (info.namespace, info.name) == ("offers", "a1")
        pieces = service[0].pieces
        assert b"".join(piece.data for piece in pieces) == data
        assert [len(piece.data) for piece in pieces] == [MIB, MIB, 3]
        assert [(piece.url, piece.namespace) for piece in pieces] == [("key/1", "offers"), ("", ""), ("", "")]


async def test_an_empty_picture_is_refused_by_the_service(calls: Calls, service: tuple[PictureService, str]) -> None:
    with pytest.raises(Refused, match="empty"):
        await calls("put", "key/1", b"", "offers")
    assert [piece.url for piece in service[0].pieces] == ["key/1"]


async def test_requests_name_urls_and_namespace(calls: Calls, service: tuple[PictureService, str]) -> None:
    await calls("request", ["a", "b"], "offers")
    await calls("look_again", ["a"])
    await calls("delete", ["a", "b"])
    await calls("delete", ["a"], "shops")
    assert service[0].requests == [
        picture_service_pb2.RequestPicturesRequest(urls=["a", "b"], namespace="offers"),
        picture_service_pb2.LookAgainRequest(urls=["a"]),
        picture_service_pb2.DeletePicturesRequest(urls=["a", "b"]),
        picture_service_pb2.DeletePicturesRequest(urls=["a"], namespace="shops"),
    ]


async def test_namespaces_are_made_and_listed(calls: Calls) -> None:
    namespace = picture_service_pb2.PictureNamespace(name="cards", formats=["jpeg"], quota_bytes=7)
    assert await calls("put_namespace", namespace) == namespace
    assert [each.name for each in await calls("list_namespaces")] == ["offers", "shops"]


async def test_comparisons_are_listed_and_confirmed(calls: Calls) -> None:
    assert [each.comparison_id for each in await calls("list_comparisons")] == [7]
    confirmed = await calls("confirm_comparison", 7)
    assert confirmed.state == picture_service_pb2.COMPARISON_STATE_RUNNING
    with pytest.raises(Refused, match="not held"):
        await calls("confirm_comparison", 6)


async def test_backups_are_listed_and_restored(calls: Calls) -> None:
    assert [each.name for each in await calls("list_backups")] == ["20261125"]
    assert (await calls("restore_backup")).name == "newest"
    assert (await calls("restore_backup", "20261125")).name == "20261125"


async def test_similar_pictures_are_listed_over_all_pages(service: tuple[PictureService, str]) -> None:
    request = picture_service_pb2.ListSimilarRequest(url="known/1", urls=["a"], max_distance=0)
    addresses = dict.fromkeys(PICTURE_SERVICES, service[1])
    async with aio.PictureClient(addresses, lambda: "t", timeout_s=20) as client:
        assert [each.url async for each in client.iter_similar(request)] == ["copy/0", "copy/1"]
        assert [each.page_token for each in service[0].requests] == ["", "1"]
        assert all(each.HasField("max_distance") and list(each.urls) == ["a"] for each in service[0].requests)
        with pytest.raises(Refused, match="not stored"):
            await client.list_similar(picture_service_pb2.ListSimilarRequest(url="other"))

    def list_all() -> list[str]:
        with PictureClient(addresses, lambda: "t", timeout_s=20) as client:
            return [each.url for each in client.iter_similar(request)]

    assert await asyncio.to_thread(list_all) == ["copy/0", "copy/1"]
