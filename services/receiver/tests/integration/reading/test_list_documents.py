"""Lists of a client's keys and versions, over real gRPC."""

from __future__ import annotations

import grpc
import pytest

from classifeed.documents.v1 import receiver_service_pb2 as pb
from classifeed_common.rpc.status import from_rpc_error
from classifeed_domain.document_shards import SHARDS, hash_of, shard_of

from ...conftest import Build, Receiver, Stubs


async def pages_of(stubs: Stubs, client: str, page_size: int) -> list[list[pb.StoredDocument]]:
    """Return all pages of a client."""
    request = pb.ListDocumentsRequest(client=client, page_size=page_size)
    pages = []
    while True:
        response = await stubs.receiver.ListDocuments(request)
        pages.append(list(response.documents))
        if not response.next_page_token:
            return pages
        request.page_token = response.next_page_token


@pytest.mark.parametrize("page_size", [1, 7, 300, 5000])
async def test_every_document_is_listed_once_with_its_triple(
    receiver: Receiver, stubs: Stubs, build: Build, page_size: int
) -> None:
    count = 300 if page_size > 1 else 20
    await receiver.push(*[build.upsert(f"k{n}", n + 1) for n in range(count)])
    await receiver.push(*[build.delete(f"k{n}", 1000) for n in range(0, count, 7)])
    pages = await pages_of(stubs, "offers", page_size)
    assert all(len(page) == page_size for page in pages[:-1])
    listed = [each for page in pages for each in page]
    assert [(hash_of(each.pk), each.pk) for each in listed] == sorted((hash_of(f"k{n}"), f"k{n}") for n in range(count))
    found = {each.pk: (each.epoch, each.version, each.removed) for each in listed}
    assert found == {f"k{n}": (1, 1000, True) if n % 7 == 0 else (1, n + 1, False) for n in range(count)}
    assert {each.timestamp.ToSeconds() for each in listed} == {build.upsert("k").timestamp.ToSeconds()}
    if count == 300:
        assert len({shard_of(hash_of(each.pk)) for each in listed}) > SHARDS / 2, "the list crosses shards"


async def test_the_documents_of_other_clients_are_not_listed(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    points = build.schema(client="points")
    await receiver.put(points)
    await receiver.push(build.upsert("of offers"))
    await receiver.push(build.upsert("of points"), client="points")
    assert [[each.pk for each in page] for page in await pages_of(stubs, "offers", 10)] == [["of offers"]]


async def test_a_key_of_the_greatest_length_fits_into_a_page_token(
    receiver: Receiver, stubs: Stubs, build: Build
) -> None:
    longest = ["ж" * 599 + f"{n:02}" for n in range(3)]
    assert all(len(pk.encode()) == 1200 for pk in longest)
    await receiver.push(*map(build.upsert, longest))
    assert {each.pk for page in await pages_of(stubs, "offers", 1) for each in page} == set(longest)


@pytest.mark.parametrize("request_", [{"page_size": 5001}, {"page_token": "%%%"}, {"page_token": "x" * 4097}])
async def test_a_page_is_bounded_and_a_token_is_checked(stubs: Stubs, request_: dict[str, str]) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stubs.receiver.ListDocuments(pb.ListDocumentsRequest(client="offers", **request_))  # type: ignore[arg-type]
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert from_rpc_error(raised.value).reason in {"INVALID_REQUEST", "PAGE_TOKEN_INVALID", "REQUEST_INVALID"}
