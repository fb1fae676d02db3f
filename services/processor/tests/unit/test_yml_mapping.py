"""One bad offer is one rejected offer, with the place and the words; real habits of shops are no errors."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1 import load_pb2, offer_requests_pb2
from classifeed_processor.feed import issues
from classifeed_processor.feed.child_place import child_places


def issues_of(load, content, **options):
    return [(e.code, e.level == load_pb2.ISSUE_LEVEL_ERROR) for r in load(content, **options).records for e in r.errors]


def test_a_good_offer_is_mapped_whole(load, yml):
    text = """<offer id=" a1 " available="false"><url> //shop.test/1 </url>
    <price from="true">1499,90</price><oldprice>2000</oldprice>
    <currencyId>RUR</currencyId><categoryId>1</categoryId><picture>https://p.test/1.jpg | https://p.test/2.jpg</picture>
    <picture>https://p.test/1.jpg</picture><picture/><title>  Чайник   <![CDATA[<стальной>]]></title>
    <brand>Bork</brand><vendorCode>K-1</vendorCode>
    <model>K</model><description><p>Вода <b>кипит</b></p></description><barcode>123</barcode><barcode>456</barcode>
    <param name="Цвет">синий</param><param name="Вес" unit="кг">2</param><count>7</count>
    <lat>55.75</lat><lon>37.61</lon>
    <address>Москва</address></offer>"""
    (record,) = load(yml(text)).records
    content = record.content
    assert record.external_id == "a1"
    assert not record.errors
    assert (content.url, content.title, content.vendor) == ("https://shop.test/1", "Чайник <стальной>", "Bork")
    assert (content.price.amount_micros, content.price.currency_code) == (1_499_900_000, "RUB")
    assert content.old_price.amount_micros == 2_000_000_000
    assert list(content.picture_urls) == ["https://p.test/1.jpg", "https://p.test/2.jpg"]
    assert [(a.name, a.value, a.unit) for a in content.attributes] == [("Цвет", "синий", ""), ("Вес", "2", "кг")]
    assert content.description == "Вода кипит"
    assert list(content.barcodes) == ["123", "456"]
    assert (content.stock_quantity, content.available) == (7, False)
    assert (content.location.latitude, content.location.longitude) == (55.75, 37.61)
    assert list(content.category_path) == ["Кухня"]
    assert len(record.content_hash) == 16


@pytest.mark.parametrize(
    ("changes", "code", "is_error"),
    [
        ({"price": "145,55,55,77"}, "PRICE_INVALID", True),
        ({"price": "130..000"}, "PRICE_INVALID", True),
        ({"price": "4.86 -- 6.22"}, "PRICE_INVALID", True),
        ({"price": "1 200"}, "PRICE_INVALID", True),
        ({"price": "1,200"}, "PRICE_INVALID", True),
        ({"price": "-5"}, "PRICE_INVALID", True),
        ({"price": "NaN"}, "PRICE_INVALID", True),
        ({"price": "1e5"}, "PRICE_INVALID", True),
        ({"price": "٣"}, "PRICE_INVALID", True),
        ({"price": "💰100"}, "PRICE_INVALID", True),
        ({"price": "0.00"}, "PRICE_ZERO", False),
        ({"price": ""}, "PRICE_MISSING", False),
        ({"price": None}, "PRICE_MISSING", False),
        ({"oldprice": "1800.00.44"}, "OLD_PRICE_INVALID", False),
        ({"oldprice": "100,50"}, "OLD_PRICE_NOT_HIGHER", False),
        ({"old_price": "99"}, "OLD_PRICE_NOT_HIGHER", False),
        ({"currencyId": "BUB"}, "CURRENCY_UNKNOWN", True),
        ({"currencyId": None}, "CURRENCY_ASSUMED", False),
        ({"categoryId": "77"}, "CATEGORY_UNKNOWN", True),
        ({"categoryId": None}, "CATEGORY_MISSING", True),
        ({"name": " "}, "TITLE_MISSING", True),
        ({"name": "х" * 1001}, "TITLE_TOO_LONG", False),
        ({"url": "shop"}, "URL_INVALID", False),
        ({"url": "javascript:alert(1)"}, "URL_INVALID", False),
        ({"picture": "file:///etc/passwd"}, "PICTURE_URL_INVALID", False),
        ({"lat": "91", "lon": "0"}, "COORDINATES_INVALID", False),
        ({"coordinates": "nan,inf"}, "COORDINATES_INVALID", False),
        ({"quantity": "много"}, "FIELD_INVALID", False),
        ({"vendor": "v" * 513}, "FIELD_INVALID", False),
        ({"param": "без имени"}, "FIELD_INVALID", False),
    ],
)
def test_each_wrong_value_has_its_code(load, yml, offer, changes, code, is_error):
    loaded = load(yml(offer("good"), offer("bad", **changes), offer("good2")))
    (issue,) = loaded.records[1].errors
    assert (issue.code, issue.level == load_pb2.ISSUE_LEVEL_ERROR) == (code, is_error)
    assert issue.external_id == "bad"
    assert (issue.ordinal, issue.line) == (2, 8)
    assert issue.title
    assert issue.message
    assert issue.suggestion
    assert issue.expected
    assert len(issue.error_id) == 32
    assert not loaded.records[0].errors
    assert not loaded.records[2].errors


def test_an_offer_without_a_currency_of_its_own_or_the_shop_is_an_error(load, yml, offer):
    assert issues_of(load, yml(offer("a", currencyId=None), currencies="")) == [("CURRENCY_MISSING", True)]


def test_a_shop_without_categories_is_one_warning_and_no_error(load, yml, offer):
    loaded = load(yml(offer("a", categoryId="77"), offer("b", categoryId=None), categories=""))
    assert loaded.codes == []
    assert len(loaded.scan.warnings) == 1
    assert loaded.records[0].content.category_id == "77"


def test_a_title_is_made_of_prefix_vendor_and_model(load, yml, offer):
    parts = "<typePrefix>Комод</typePrefix><vendor>Икс</vendor><model>Реан</model>"
    loaded = load(yml(offer("a", extra=parts, name=None), offer("b", extra="<model>Реан</model>", name=None)))
    assert loaded.records[0].content.title == "Комод Икс Реан"
    assert loaded.codes == [("b", "TITLE_MISSING")]


def test_the_place_of_an_issue_is_exact(load, yml):
    text = (
        '<offer id="a"><name>Ложка</name><price>1</price><categoryId>1</categoryId>\n'
        "  <!-- <picture> --><picture>https://p.test/1</picture> <picture>bad one</picture>\n</offer>"
    )
    (issue,) = load(yml(text)).records[0].errors[1:]
    assert issue.code == "PICTURE_URL_INVALID"
    assert (issue.line, issue.path, issue.value, issue.field) == (8, "offer/picture[2]", "bad one", "picture")
    assert issue.excerpt.startswith("<picture>")


def test_columns_of_a_file_in_one_line_count_characters(load, yml, offer):
    offers = "".join(offer(f"й{n}", price="100" if n != 700 else "x") for n in range(800))
    content = yml(offers).replace(b"\n", b"")
    (issue,) = [error for record in load(content).records for error in record.errors]
    assert issue.line == 1
    assert issue.column == content.decode().index("<price>x") + 1
    assert issue.excerpt.startswith("<price>x</price>")


def test_offers_without_id_and_duplicates_travel_by_their_position(load, yml, offer):
    content = yml(offer("a"), offer("b"), offer("a", price="x"), offer(""), offer(" "), offer("x" * 257), offer("a"))
    loaded = load(content)
    kinds = [(record.kind, record.external_id) for record in loaded.records]
    of, duplicate, without = (
        offer_requests_pb2.RECORD_KIND_OFFER,
        offer_requests_pb2.RECORD_KIND_DUPLICATE,
        offer_requests_pb2.RECORD_KIND_UNIDENTIFIED,
    )
    assert kinds == [
        (of, "a"), (of, "b"), (duplicate, "record:3"), (without, "record:4"), (without, "record:5"),
        (without, "record:6"), (duplicate, "record:7"),
    ]  # fmt: skip
    assert loaded.codes == [
        ("a", "DUPLICATE_ID"), ("record:4", "ID_MISSING"), ("record:5", "ID_MISSING"), ("record:6", "ID_TOO_LONG"),
        ("a", "DUPLICATE_ID"),
    ]  # fmt: skip
    assert all("line 7" in loaded.records[place].errors[0].message for place in (2, 6))
    assert not any(record.HasField("content") for record in loaded.records[2:])


def test_an_offer_over_the_limit_is_rejected_alone(load, yml, offer):
    loaded = load(yml(offer("a"), offer("big", description="x" * 300_000), offer("c")))
    assert loaded.codes == [("big", "OFFER_TOO_LARGE")]
    assert not loaded.records[1].HasField("content")
    assert all(batch.ByteSize() < 900_000 for batch in loaded.batches)


def test_an_offer_of_too_many_elements_is_rejected_alone(load, yml, offer):
    loaded = load(yml(offer("a"), offer("b", extra="<price>x</price>" * 2_001), offer("c")))
    assert loaded.codes == [("b", "OFFER_TOO_LARGE")]
    assert "2,006 elements" in loaded.records[1].errors[0].message


def test_a_flood_of_issues_is_counted_and_cut(load, yml, offer, monkeypatch):
    parsed = []

    def counting(source, encoding):
        parsed.append(source)
        return child_places(source, encoding)

    monkeypatch.setattr(issues, "child_places", counting)
    loaded = load(yml(offer("a", extra="<picture>bad one</picture>" * 100), offer("b", price="x")))
    errors = loaded.records[0].errors
    assert len(errors) == 20
    assert errors[-1].code == "TOO_MANY_ISSUES"
    assert "81 further" in errors[-1].message
    assert [error.code for error in loaded.records[1].errors] == ["PRICE_INVALID"]
    assert len(parsed) == 2, "each offer once, for the places of all its issues"


def test_a_patch_names_what_the_file_states_and_asks_for_nothing_else(load):
    offers = '<offer id="1"><price>5</price><outlets><outlet instock="2"/><outlet instock="3"/></outlets></offer>'
    offers += '<offer id="2" available="false"/>'
    loaded = load(f"<yml_catalog><shop><offers>{offers}</offers></shop></yml_catalog>".encode(), patch=True)
    assert [list(record.named_fields) for record in loaded.records] == [["price", "stock_quantity"], ["available"]]
    assert loaded.records[0].content.stock_quantity == 5
    assert loaded.codes == []


def test_offers_elsewhere_in_the_file_do_not_count(load, yml, offer):
    """Both passes must agree on which elements are offers, or every line after one would be wrong."""
    nested = offer("b", extra='<bundle><offers><offer id="in"/></offers></bundle>')
    content = yml(offer("a"), nested, offer("c", price="x")).replace(
        b"<shop>", b"<shop><gifts><offer id='g'/></gifts>", 1
    )
    loaded = load(content)
    assert [record.external_id for record in loaded.records] == ["a", "b", "c"]
    assert [error.line for error in loaded.records[2].errors] == [9]
    assert loaded.scan.offer_count == 3


def test_categories_in_a_circle_end(load, yml, offer):
    circle = '<category id="1" parentId="2">А</category><category id="2" parentId="1">Б</category>'
    (record,) = load(yml(offer("a"), categories=circle)).records
    assert list(record.content.category_path) == ["Б", "А"]


def test_an_id_that_looks_like_a_stand_in_is_refused(load, yml, offer):
    """Two records of one batch would have one id: that of the offer, and the stand-in of a duplicate."""
    loaded = load(yml(offer("record:3"), offer("a"), offer("a")))
    assert [record.external_id for record in loaded.records] == ["record:1", "a", "record:3"]
    assert loaded.codes == [("record:1", "ID_RESERVED"), ("a", "DUPLICATE_ID")]


@pytest.mark.parametrize(("tag", "code"), [("url", "URL_INVALID"), ("picture", "PICTURE_URL_INVALID")])
@pytest.mark.parametrize("path", ["a b.jpg", "x" * 150 + "/one two.jpg", "x" * 300 + "/one two.jpg" + "y" * 300])
def test_a_space_in_a_link_is_named_and_shown(load, yml, offer, tag, code, path):
    (issue,) = load(yml(offer("a", **{tag: f"https://p.test/{path}"}))).records[0].errors
    assert issue.code == code
    assert "holds a space" in issue.message
    assert "%20 for each space" in issue.suggestion
    around = "a b.jpg" if path == "a b.jpg" else "/one two.jpg"
    assert around in issue.message
    assert around in issue.value
    assert len(issue.value) <= 200
    assert len(issue.message) <= 80 + len("“” is not a link to a picture, for it holds a space; it was left out.")


@pytest.mark.parametrize("text", ["bad one", "ftp://shop.test/a b", "x" * 200 + " y"])
def test_what_is_no_link_without_its_spaces_either_is_not_blamed_on_them(load, yml, offer, text):
    (issue,) = load(yml(offer("a", url=text))).records[0].errors
    assert "space" not in issue.message
