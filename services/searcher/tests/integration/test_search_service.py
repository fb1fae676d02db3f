"""Search over real gRPC: conditions, faults with their positions, pages, the wait for a position."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from classifeed.documents.v1 import document_pb2, index_document_pb2, index_queue_service_pb2, schema_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub, add_SearchServiceServicer_to_server
from classifeed_common.errors import Unavailable
from classifeed_common.kafka import Position
from classifeed_common.rpc.server import Servicer
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_devkit.testing.texts import check_that_nul_is_refused
from classifeed_domain.document_digest import digest_of
from classifeed_domain.document_shards import hash_of
from classifeed_searcher.app import search_documents
from classifeed_searcher.app.search_documents import SearchDocuments
from classifeed_searcher.domain.rebuild import Cause, Rebuild
from classifeed_searcher.rpc.search_service import SearchService
from classifeed_searcher.store.catch_up import CatchUp
from classifeed_searcher.store.generation import IndexGeneration
from classifeed_searcher.store.live_index import LiveIndex

MAIN = index_queue_service_pb2.INDEX_QUEUE_MAIN
DEADLINE_S = 60.0
SELLERS = {"a": "north", "b": "north", "c": "south", "d": "south"}


def schema() -> schema_pb2.Schema:
    made = schema_pb2.Schema(client="offers", epoch=1)
    made.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True, analyzer="ANALYZER_RU_EN")
    made.fields.add(name="seller", type="FIELD_TYPE_STRING", indexed=True, stored=True)
    made.fields.add(name="price", type="FIELD_TYPE_DOUBLE", indexed=True, stored=True, sortable=True)
    return made


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveIndex]:
    generation = IndexGeneration.create(tmp_path / "generation", schema())
    write = generation.open_write()
    for idx, (pk, seller) in enumerate(SELLERS.items(), start=1):
        document = index_document_pb2.IndexDocument(
            client="offers", epoch=1, pk=pk, version=1, action=document_pb2.DOCUMENT_ACTION_UPSERT,
            fence=1, queue=MAIN, shard=3, idx=idx,
        )  # fmt: skip
        document.fields.add(name="title").values.add(string_value="угловой диван")
        document.fields.add(name="seller").values.add(string_value=seller)
        document.fields.add(name="price").values.add(double_value=100.0 * idx)
        generation.apply(write, [document])
    generation.commit(write, {})
    live = LiveIndex("offers")
    live.generation = generation
    yield live
    generation.close()


@pytest.fixture
async def target(rpc_server: StartServer, live: LiveIndex) -> AsyncIterator[str]:
    documents = SearchDocuments({"offers": live}, at_least_wait_s=0.2)
    yield await rpc_server("searcher", Servicer.of(add_SearchServiceServicer_to_server, SearchService(documents)))
    documents.close()


async def test_nul_in_any_text_of_a_request_is_refused_by_its_field(target: str, rpc_channel: OpenChannel) -> None:
    await check_that_nul_is_refused(rpc_channel, target, "searcher", "classifeed.search.v1.SearchService")


@pytest.fixture
def search(target: str, rpc_channel: OpenChannel) -> SearchServiceStub:
    return SearchServiceStub(rpc_channel(target, caller="operator", audience="searcher"))


def request(query: str = "", **fields: Any) -> search_service_pb2.SearchRequest:
    return search_service_pb2.SearchRequest(client="offers", query=query, **fields)


async def found(search: SearchServiceStub, query: search_service_pb2.SearchRequest) -> set[str]:
    return {hit.pk for hit in (await search.Search(query)).hits}


async def refusal(search: SearchServiceStub, query: search_service_pb2.SearchRequest) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await search.Search(query)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    return caught.value.details() or ""


async def test_conditions_narrow_and_cannot_be_left_by_a_bracket(search: SearchServiceStub) -> None:
    assert await found(search, request("диваны", conditions=["seller:north", "price:[150 TO *]"])) == {"b"}
    for query, condition in (
        ("диван) OR (диван", "seller:north"),
        ("диван", "seller:north) OR (title:диван"),
    ):
        assert "nothing opened" in await refusal(search, request(query, conditions=[condition]))
    assert await found(search, request("диван OR диван", conditions=["seller:north"])) == {"a", "b"}


class Held:
    """Replaces searches by calls that last until `release`; counts those that have begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.release = threading.Event()

    def __call__(self, *_: object) -> bytes:
        self.begun += 1
        assert self.release.wait(DEADLINE_S)
        return b""


async def test_long_searches_hold_up_no_other_work_and_those_without_a_caller_never_begin(
    live: LiveIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    monkeypatch.setattr(search_documents, "search_index", held)
    search = SearchDocuments({"offers": live})
    calls = [asyncio.create_task(search(request("диван"))) for _ in range(40)]
    try:
        await until(lambda: held.begun == 8)
        assert live.generation is not None
        await asyncio.to_thread(live.generation.digest)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
    finally:
        held.release.set()
    assert await search(request("диван")) == b"", "it waits for all that came before it"
    assert held.begun == 8 + 1
    search.close()


class Panic(BaseException):
    """Like a panic of the engine, it is not an Exception."""


async def test_a_panic_of_the_engine_ends_one_call_only(
    search: SearchServiceStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panic(*_: object) -> None:
        raise Panic

    with monkeypatch.context() as panicking:
        panicking.setattr(search_documents, "search_index", panic)
        with pytest.raises(grpc.aio.AioRpcError):
            await search.Search(request("диван"), timeout=DEADLINE_S)
    assert await found(search, request("диван")) == set(SELLERS)


async def test_fault_is_placed_in_what_the_user_wrote(search: SearchServiceStub) -> None:
    assert "query cannot be read at character 6" in await refusal(search, request("a AND", conditions=["seller:north"]))
    message = await refusal(search, request("диван", conditions=["seller:north", "prise:1"]))
    assert "condition 'prise:1' cannot be read at character 1" in message
    assert "price" in message, "names the fields there are"


async def test_nothing_found_tells_which_word_has_no_match(search: SearchServiceStub) -> None:
    response = await search.Search(request("красный диван", conditions=["seller:North"]))
    hint = response.hint
    assert (list(hint.unmatched), hint.query, hint.total) == (["красный"], "диван", 2)
    assert not (await search.Search(request("диван"))).HasField("hint")


async def test_pages_go_on_and_belong_to_their_search(search: SearchServiceStub) -> None:
    query = request("диван", page_size=3)
    query.sort.field = "price"
    first = await search.Search(query)
    assert ([hit.pk for hit in first.hits], first.total) == (["a", "b", "c"], 4)
    query.page_token = first.next_page_token
    second = await search.Search(query)
    assert ([hit.pk for hit in second.hits], second.next_page_token) == (["d"], "")
    query.query = "угловой"
    assert "page_token" in await refusal(search, query)
    assert "page_token" in await refusal(search, request(page_token="nonsense"))


async def test_search_waits_for_a_position_or_says_that_it_is_behind(search: SearchServiceStub) -> None:
    query = request("диван")
    query.at_least.add(shard=3, idx=4)
    assert len(await found(search, query)) == 4
    query.at_least[0].idx = 5
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await search.Search(query)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_unknown_client_and_document_are_said(search: SearchServiceStub) -> None:
    assert "no index of client 'points'" in await refusal(search, search_service_pb2.SearchRequest(client="points"))
    unnamed = await refusal(search, search_service_pb2.SearchRequest(query="диван"))
    assert unnamed == ("The request names no client: `client` names the documents to search. Set it to one of: offers.")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await search.GetDocument(search_service_pb2.GetDocumentRequest(client="offers", pk="nothing"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    status = await search.GetIndexStatus(search_service_pb2.GetIndexStatusRequest(client="offers"))
    assert (status.documents, [(at.shard, at.idx) for at in status.positions]) == (4, [(3, 4)])


async def test_index_that_is_not_whole_is_unavailable_and_says_how_far_it_is(
    search: SearchServiceStub, live: LiveIndex
) -> None:
    live.generation, live.rebuild = None, Rebuild(Cause("no_index", "state.json is missing"), shards=41)
    query = search_service_pb2.GetDocumentRequest(client="offers", pk="a")
    for call in (search.Search(request("диван")), search.GetDocument(query), search.GetDigest(digest_request())):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        assert from_rpc_error(caught.value).reason == "INDEX_REBUILDING"
        assert "41 of 64 shards (state.json is missing)" in (caught.value.details() or "")
    with pytest.raises(Unavailable, match="41 of 64 shards"):
        await live.check()
    status = await search.GetIndexStatus(search_service_pb2.GetIndexStatusRequest(client="offers"))
    assert (status.rebuild.shards, status.rebuild.serves_former) == (41, False)


async def test_index_that_catches_up_is_unavailable_and_says_what_it_lacks(
    search: SearchServiceStub, live: LiveIndex
) -> None:
    generation, live.generation = live.generation, None
    assert generation is not None
    generation.state.positions["topic", 3] = Position("id", 5)
    live.catch_up = CatchUp(generation, {("topic", 3): Position("id", 12)})
    with pytest.raises(grpc.aio.AioRpcError, match="lacks 7 records") as caught:
        await search.Search(request("диван"))
    assert from_rpc_error(caught.value).reason == "INDEX_CATCHING_UP"
    status = await search.GetIndexStatus(search_service_pb2.GetIndexStatusRequest(client="offers"))
    assert (status.catch_up_records, status.HasField("rebuild")) == (7, False)


async def test_client_without_a_schema_has_nothing_to_find(search: SearchServiceStub, live: LiveIndex) -> None:
    live.generation, live.has_schema = None, False
    await live.check()
    assert not await found(search, request("диван"))
    assert not (await search.GetDigest(digest_request())).digests


def digest_request() -> search_service_pb2.GetDigestRequest:
    return search_service_pb2.GetDigestRequest(client="offers")


async def test_digest_is_that_of_the_registry(search: SearchServiceStub) -> None:
    digests = (await search.GetDigest(digest_request())).digests
    expected = [digest_of(hash_of(pk), 1) for pk in SELLERS]
    assert sum(digest.documents for digest in digests) == len(SELLERS)
    assert sum(digest.sum_a for digest in digests) == sum(digest.a for digest in expected)
    assert sum(digest.sum_b for digest in digests) == sum(digest.b for digest in expected)
