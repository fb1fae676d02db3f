"""Commands of the index: their requests and their output."""

from __future__ import annotations

from typing import Any

from google.protobuf.json_format import ParseDict

from classifeed.documents.v1 import indexer_service_pb2
from classifeed.offers.v1 import offer_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_cli.exit_codes import ExitCode


def test_status_shows_what_is_on_its_way_and_what_differs(api: Any, terminal: Any) -> None:
    publication = {
        "unpublished_offers": 7,
        "refused_offers": 1,
        "refused": [{"name": "sellers/s/feeds/f/offers/1", "version": 5, "reasons": "fields.title: too long"}],
        "republications": [{"republication_id": 3, "reason": "the receiver went back", "offers": 1200}],
    }
    delivery = {
        "client": "offers",
        "shards": [{"shard": 0, "holder": "a"}, {"shard": 1, "refill": {"reason": "trimmed", "documents": 40}}],
    }
    index = {
        "documents": 1000,
        "equal_shards": 60,
        "differing_shards": [3, 4],
        "catch_up_records": 512,
        "rebuild": {"reason": "it differs", "shards": 41, "documents": 640, "serves_former": True},
    }
    api.respond("GetPublication", ParseDict(publication, offer_service_pb2.Publication()))
    api.respond("GetStatus", ParseDict(delivery, indexer_service_pb2.IndexerStatus()))
    api.respond("GetIndexStatus", ParseDict(index, search_service_pb2.IndexStatus()))
    ended = terminal("index", "status")
    text = " ".join(ended.out.split())
    for words in (
        "7 wait to be published, 1 are refused",
        "offers/1 in version 5: fields.title: too long",
        "republication 3 of all offers: 1200 so far (the receiver went back)",
        "1 of 64 shards are being delivered",
        "shard 1 is being refilled: 40 documents so far (trimmed)",
        "1000 documents; 60 of 64 shards are equal",
        "differ from the registry: 3, 4",
        "catching up: 512 records that arrived while the searcher was stopped",
        "the previous index is searched meanwhile: 41 of 64 shards, 640 documents (it differs)",
    ):
        assert words in text, text
    assert terminal("index", "status", "--json").document["index"]["documents"] == "1000"


def test_republish_names_whose_offers(api: Any, terminal: Any) -> None:
    api.respond("RepublishOffers", offer_service_pb2.RepublishOffersResponse(republication_id=4))
    assert terminal("index", "republish", "--json").document == {"republication_id": "4"}
    terminal("index", "republish", "--seller", "s")
    terminal("index", "republish", "--seller", "s", "--namespace", "n")
    requests = api.requests["RepublishOffers"]
    assert [request.parent for request in requests] == ["", "sellers/s", "sellers/s/feeds/n"]
    assert len({request.request_id for request in requests}) == 3
    assert terminal("index", "republish", "--namespace", "n").exit_code == ExitCode.USAGE


def test_refill_names_shards(api: Any, terminal: Any) -> None:
    api.respond("RequestRefill", indexer_service_pb2.RequestRefillResponse(shards=64))
    assert terminal("index", "refill", "--json").document == {"shards": 64}
    terminal("index", "refill", "--client", "points", "--shard", "3", "--shard", "5")
    first, second = api.requests["RequestRefill"]
    assert (first.client, list(first.shards)) == ("offers", [])
    assert (second.client, list(second.shards)) == ("points", [3, 5])
