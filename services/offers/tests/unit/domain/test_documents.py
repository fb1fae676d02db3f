"""Documents: the search's view of an offer, valid under the registered schema."""

from __future__ import annotations

from datetime import UTC, datetime

import protovalidate
import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, DOCUMENT_ACTION_UPSERT, Field, RawDocument
from classifeed.documents.v1.schema_pb2 import (
    FIELD_TYPE_BOOL,
    FIELD_TYPE_DOUBLE,
    FIELD_TYPE_GEO_POINT,
    FIELD_TYPE_STRING,
    FIELD_TYPE_TEXT,
    FIELD_TYPE_TIMESTAMP,
)
from classifeed.offers.v1.offer_pb2 import (
    OFFER_PICTURE_STATE_AWAITED,
    OFFER_PICTURE_STATE_FAILED,
    OFFER_PICTURE_STATE_STORED,
    Attribute,
    GeoPoint,
    OfferContent,
    Price,
)
from classifeed.offers.v1.picture_records_pb2 import PictureRecords
from classifeed.pictures.v1.picture_pb2 import PictureInfo, PictureSize
from classifeed_domain.document_bodies import BodyCodec
from classifeed_domain.publishing.receiver import cut
from classifeed_offers.domain.documents import DueOffer, PictureRules, compose, picture_address, plain_text, schema

KINDS = {
    FIELD_TYPE_STRING: "string_value",
    FIELD_TYPE_TEXT: "string_value",
    FIELD_TYPE_DOUBLE: "double_value",
    FIELD_TYPE_BOOL: "bool_value",
    FIELD_TYPE_TIMESTAMP: "timestamp_value",
    FIELD_TYPE_GEO_POINT: "geo_value",
}
FULL = OfferContent(
    category_id="12",
    category_path=["Мебель", "Диваны"],
    title="Диван угловой",
    description="<p>Мягкий&nbsp;и <b>тёплый</b></p>",
    url="https://example.com/1",
    price=Price(amount_micros=1_500_000, currency_code="RUB"),
    location=GeoPoint(latitude=55.7, longitude=37.6),
    picture_urls=["https://example.com/1.jpg", "https://example.com/2.jpg"],
    attributes=[Attribute(name="Ширина", value="200", unit="см")],
    available=True,
    vendor="Фабрика",
    vendor_code="D-200",
    barcodes=["4600000000000"],
)


CODEC = BodyCodec(schema())


def fields_of(document: RawDocument) -> list[Field]:
    return CODEC.fields_of(document.body)


def due(content: OfferContent = FULL, status: str = "ACTIVE", published: OfferContent | None = None) -> DueOffer:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    shown = None if published is None else published.SerializeToString()
    return DueOffer(1, 17, "seller", "default", "id/1", status, content.SerializeToString(), shown, now, now)


@pytest.mark.parametrize("content", [FULL, OfferContent(), OfferContent(picture_urls=["u"] * 2000)])
def test_documents_fit_the_schema(content: OfferContent) -> None:
    document = compose(due(content))
    fields = {field.name: field for field in schema().fields}
    protovalidate.validate(document)
    protovalidate.validate(schema())
    filled = fields_of(document)
    for field in filled:
        spec = fields[field.name]
        assert {value.WhichOneof("kind") for value in field.values} == {KINDS[spec.type]}
        assert spec.repeated or len(field.values) == 1
    assert {name for name, spec in fields.items() if spec.required} <= {field.name for field in filled}
    assert CODEC.faults(document.body) == []


def test_every_field_of_the_schema_is_filled_from_a_full_offer() -> None:
    document = compose(due())
    fields = fields_of(document)
    said = {field.name: [getattr(value, value.WhichOneof("kind")) for value in field.values] for field in fields}
    assert set(said) == {field.name for field in schema().fields}
    assert document.pk == "seller/default/id/1"
    assert (document.version, document.action) == (17, DOCUMENT_ACTION_UPSERT)
    assert said["price"] == [1.5]
    assert said["category"] == ["Мебель Диваны"]
    assert said["attributes"] == ["Ширина 200 см Фабрика D-200 4600000000000"]
    assert said["description"] == ["Мягкий\xa0и  тёплый"]
    assert said["picture"] == list(FULL.picture_urls)


def pictures(rules: PictureRules, *states: int, code: str = "") -> list[str]:
    """Return the pictures of a document whose links have these states, in order; `code` is that of failed ones."""
    records = PictureRecords()
    for number, state in enumerate(states):
        picture = records.pictures.add(url=f"https://a/{number}", state=state)
        if state == OFFER_PICTURE_STATE_STORED:
            picture.info.CopyFrom(INFO)
        elif state == OFFER_PICTURE_STATE_FAILED:
            picture.failure.code = code
    content = OfferContent(picture_urls=[picture.url for picture in records.pictures])
    document = compose(due(content)._replace(pictures=records.SerializeToString()), rules)
    return [value.string_value for it in fields_of(document) if it.name == "picture" for value in it.values]


INFO = PictureInfo(
    namespace="offers", group_id=7, name="n", sizes=[PictureSize(name="card"), PictureSize(name="large")]
)
AWAITED, STORED, FAILED = OFFER_PICTURE_STATE_AWAITED, OFFER_PICTURE_STATE_STORED, OFFER_PICTURE_STATE_FAILED


@pytest.mark.parametrize(
    ("rules", "states", "shown"),
    [
        (PictureRules(), [STORED, AWAITED], ["/get/offers/7/n/large", "https://a/1"]),
        (PictureRules(), [FAILED, AWAITED], ["https://a/1"]),
        (PictureRules(), [FAILED], ["https://a/0"]),
        (PictureRules(base_url="https://p.example"), [STORED], ["https://p.example/get/offers/7/n/large"]),
        (PictureRules(is_kept=False), [STORED, FAILED], ["https://a/0", "https://a/1"]),
    ],
)
def test_pictures_are_addresses_or_links_as_the_settings_say(
    rules: PictureRules, states: list[int], shown: list[str]
) -> None:
    assert pictures(rules, *states) == shown


def test_a_picture_without_the_large_size_is_shown_as_its_original() -> None:
    info = PictureInfo(namespace="offers", group_id=7, name="n", sizes=[PictureSize(name="card")])
    assert picture_address(info) == "/get/offers/7/n/orig"


@pytest.mark.parametrize("code", ["PICTURE_DELETED", "PICTURE_NOINDEX"])
def test_the_link_of_a_picture_that_may_not_be_shown_never_stands_for_it(code: str) -> None:
    assert pictures(PictureRules(), FAILED, code=code) == []
    assert pictures(PictureRules(), FAILED, AWAITED, code=code) == ["https://a/1"]


@pytest.mark.parametrize("status", ["REMOVED", "BANNED", "REJECTED", "PENDING"])
def test_what_must_not_be_found_is_deleted(status: str) -> None:
    document = compose(due(status=status))
    assert (document.action, document.body) == (DOCUMENT_ACTION_DELETE, "")
    protovalidate.validate(document)


def test_the_published_text_is_shown_while_a_new_one_waits() -> None:
    published = OfferContent(title="earlier")
    document = compose(due(status="PENDING", published=published))
    assert document.action == DOCUMENT_ACTION_UPSERT
    assert {field.name: field.values[0].string_value for field in fields_of(document)}["title"] == "earlier"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain 5 > 3", "plain 5 > 3"),
        ("a<br/>b", "a b"),
        ("1 &lt; 2 &amp; 3", "1 < 2 & 3"),
        ("a < b", "a < b"),
        ("<" * 10_000, "<" * 10_000),
    ],
)
def test_tags_are_no_words(html: str, text: str) -> None:
    assert plain_text(html) == text


def test_requests_are_cut_by_size_and_number() -> None:
    documents = [RawDocument(pk="x" * 100) for _ in range(1001)]
    assert [len(part) for part in cut(documents)] == [500, 500, 1]
    assert [len(part) for part in cut(documents[:5], limit_bytes=210)] == [2, 2, 1]
    assert [len(part) for part in cut(documents[:2], limit_bytes=10)] == [1, 1]
    assert list(cut([])) == []
