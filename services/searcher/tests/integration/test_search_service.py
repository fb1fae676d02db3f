"""Search over real gRPC: conditions that stay conditions, faults with their place, pages, the wait for a position."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from classifeed.documents.v1 import document_pb2, index_document_pb2, index_queue_service_pb2, schema_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub, add_SearchServiceServicer_to_server
from classifeed_common.rpc.server import Servicer
from classifeed_common.testing.rpc import OpenChannel, StartServer
from classifeed_searcher.app.search_documents import SearchDocuments
from classifeed_searcher.rpc.search_service import SearchService
from classifeed_searcher.store.catalogue import IndexCatalogue

MAIN = index_queue_service_pb2.INDEX_QUEUE_MAIN
SELLERS = {"a": "north", "b": "north", "c": "south", "d": "south"}


def schema() -> schema_pb2.Schema:
    made = schema_pb2.Schema(client="offers", epoch=1)
    made.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True, analyzer="ANALYZER_RU_EN")
    made.fields.add(name="seller", type="FIELD_TYPE_STRING", indexed=True, stored=True)
    made.fields.add(name="price", type="FIELD_TYPE_DOUBLE", indexed=True, stored=True, sortable=True)
    return made


@pytest.fixture
async def search(rpc_server: StartServer, rpc_channel: OpenChannel, tmp_path: Path) -> SearchServiceStub:
    catalogue = IndexCatalogue(tmp_path, "offers")
    catalogue.add(schema())
    write = catalogue.open_write()
    for idx, (pk, seller) in enumerate(SELLERS.items(), start=1):
        document = index_document_pb2.IndexDocument(
            client="offers", epoch=1, pk=pk, version=1, action=document_pb2.DOCUMENT_ACTION_UPSERT,
            fence=1, queue=MAIN, shard=3, idx=idx,
        )  # fmt: skip
        document.fields.add(name="title").values.add(string_value="угловой диван")
        document.fields.add(name="seller").values.add(string_value=seller)
        document.fields.add(name="price").values.add(double_value=100.0 * idx)
        catalogue.apply(write, document)
    catalogue.commit(write, {})
    service = SearchService(SearchDocuments({"offers": catalogue}, at_least_wait_s=0.2))
    target = await rpc_server("searcher", Servicer.of(add_SearchServiceServicer_to_server, service))
    return SearchServiceStub(rpc_channel(target, caller="operator", audience="searcher"))


def request(query: str = "", **fields: object) -> search_service_pb2.SearchRequest:
    return search_service_pb2.SearchRequest(client="offers", query=query, **fields)


async def found(search: SearchServiceStub, asked: search_service_pb2.SearchRequest) -> set[str]:
    return {hit.pk for hit in (await search.Search(asked)).hits}


async def refusal(search: SearchServiceStub, asked: search_service_pb2.SearchRequest) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await search.Search(asked)
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


async def test_fault_is_placed_in_what_the_user_wrote(search: SearchServiceStub) -> None:
    assert "query cannot be read at character 6" in await refusal(search, request("a AND", conditions=["seller:north"]))
    said = await refusal(search, request("диван", conditions=["seller:north", "prise:1"]))
    assert "condition 'prise:1' cannot be read at character 1" in said
    assert "price" in said, "names the fields there are"


async def test_pages_go_on_and_belong_to_their_search(search: SearchServiceStub) -> None:
    asked = request("диван", page_size=3)
    asked.sort.field = "price"
    first = await search.Search(asked)
    assert ([hit.pk for hit in first.hits], first.total) == (["a", "b", "c"], 4)
    asked.page_token = first.next_page_token
    second = await search.Search(asked)
    assert ([hit.pk for hit in second.hits], second.next_page_token) == (["d"], "")
    asked.query = "угловой"
    assert "page_token" in await refusal(search, asked)
    assert "page_token" in await refusal(search, request(page_token="nonsense"))


async def test_search_waits_for_a_position_or_says_that_it_is_behind(search: SearchServiceStub) -> None:
    asked = request("диван")
    asked.at_least.add(shard=3, idx=4)
    assert len(await found(search, asked)) == 4
    asked.at_least[0].idx = 5
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await search.Search(asked)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_unknown_client_and_document_are_said(search: SearchServiceStub) -> None:
    assert "offers" in await refusal(search, search_service_pb2.SearchRequest(client="points"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await search.GetDocument(search_service_pb2.GetDocumentRequest(client="offers", pk="nothing"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    status = await search.GetIndexStatus(search_service_pb2.GetIndexStatusRequest(client="offers"))
    assert (status.documents, [(at.shard, at.idx) for at in status.positions]) == (4, [(3, 4)])
