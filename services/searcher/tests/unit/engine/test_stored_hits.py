"""A stored hit is sent to the caller unchanged, and equals a hit that is decoded and encoded again."""

from __future__ import annotations

import pytest

from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.search.v1.search_service_pb2 import Hint, Hit, SearchResponse
from classifeed_domain.document_bodies import BodyCodec
from classifeed_searcher.engine.stored_hits import StoredHits, encode_response


@pytest.fixture
def hits() -> StoredHits:
    schema = Schema(client="offers", epoch=1)
    schema.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True)
    return StoredHits(BodyCodec(schema))


def with_body(text: str = "диван") -> Hit:
    hit = Hit(pk="a", version=7, body=f'{{"title":"{text}"}}')
    hit.index_time.FromSeconds(5)
    return hit


def with_fields() -> Hit:
    hit = Hit(pk="a", version=7)
    hit.fields.add(name="title").values.add(string_value="диван")
    hit.index_time.FromSeconds(5)
    return hit


@pytest.mark.parametrize("kept", [with_body(), with_fields(), Hit(pk="a", version=7), Hit()])
@pytest.mark.parametrize("is_body", [True, False])
@pytest.mark.parametrize("score", [0.0, 1.5])
def test_encoded_hit_is_the_one_that_is_shown(hits: StoredHits, kept: Hit, is_body: bool, score: float) -> None:
    found = Hit.FromString(hits.encode(kept.SerializeToString(), score, is_body=is_body))
    shown = hits.show(kept, is_body=is_body)
    shown.score = score
    assert found == shown


def test_hit_with_its_body_is_passed_on_untouched(hits: StoredHits) -> None:
    kept = with_body().SerializeToString() + b"\xfa\x01\x01x"  # field 31, of a later release
    assert hits.encode(kept, 0.0, is_body=True) == kept


@pytest.mark.parametrize("length", [0, 1, 100, 127, 128, 16_383, 16_384, 3_000_000])
def test_response_holds_hits_of_all_lengths_and_the_rest(length: int) -> None:
    kept = [with_body("x" * length), Hit(), with_body()]
    rest = SearchResponse(total=3, next_page_token="next", hint=Hint(query="диван"))
    found = SearchResponse.FromString(encode_response([hit.SerializeToString() for hit in kept], rest))
    assert list(found.hits) == kept
    assert (found.total, found.next_page_token, found.hint) == (3, "next", rest.hint)
