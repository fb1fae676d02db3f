"""One invalid offer is one rejected offer, with position and texts; common deviations are accepted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from classifeed.feeds.v1 import load_pb2, offer_requests_pb2
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.mapping import extraction as gathering
from classifeed_feeds.mapping import issues

from ...conftest import Load, WriteOffer, WriteYml


def issues_of(load: Load, content: bytes, **options: Any) -> list[tuple[str, bool]]:
    return [(e.code, e.level == load_pb2.ISSUE_LEVEL_ERROR) for r in load(content, **options).records for e in r.errors]


def test_a_good_offer_is_mapped_whole(load: Load, yml: WriteYml) -> None:
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
        ({"price": "100 USD"}, "PRICE_INVALID", True),
        ({"categoryId": "77"}, "CATEGORY_UNKNOWN", False),
        ({"categoryId": None}, "CATEGORY_MISSING", False),
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
        ({"available": "спросите"}, "FIELD_INVALID", False),
        ({"url": "https://shop.test/a b"}, "LINK_ESCAPED", False),
        ({"name": "."}, "TITLE_MISSING", True),
        ({"name": "Шило &amp;amp; мыло"}, "ESCAPED_TWICE", False),
    ],
)
def test_each_wrong_value_has_its_code(
    load: Load, yml: WriteYml, offer: WriteOffer, changes: dict[str, str | None], code: str, is_error: bool
) -> None:
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


RATED = '<currency id="KZT" rate="2"/><currency id="USD" rate="90"/>'


@pytest.mark.parametrize(
    ("currencies", "default", "code", "currency", "words"),
    [
        ('<currency id="KZT" rate="1"/>', "USD", "CURRENCY_ASSUMED", "KZT", "the main currency of the file"),
        ('<currency id="KZT" rate="CBRF"/>', "", "CURRENCY_ASSUMED", "KZT", "the main currency of the file"),
        ("", "USD", "CURRENCY_ASSUMED", "USD", "--currency"),
        (RATED, "USD", "CURRENCY_ASSUMED", "USD", "--currency"),
        ("", "", "CURRENCY_ASSUMED", "RUB", "currency of the format"),
        (RATED, "", "CURRENCY_MISSING", "", "the file has no default"),
    ],
)
def test_an_amount_without_a_currency_has_that_of_the_file_the_load_or_the_format(
    load: Load, yml: WriteYml, offer: WriteOffer, currencies: str, default: str, code: str, currency: str, words: str
) -> None:
    (record,) = load(yml(offer("a", currencyId=None), currencies=currencies), default_currency=default).records
    (issue,) = record.errors
    assert (issue.code, record.content.price.currency_code) == (code, currency)
    assert words in issue.message
    assert code != "CURRENCY_MISSING" or "--currency RUB" in issue.suggestion


def test_a_shop_without_categories_is_one_warning_and_no_error(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    loaded = load(yml(offer("a", categoryId="77"), offer("b", categoryId=None), categories=""))
    assert loaded.codes == []
    assert len(loaded.scan.warnings) == 1
    assert loaded.records[0].content.category_id == "77"


def test_a_title_is_made_of_prefix_vendor_and_model(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    parts = "<typePrefix>Комод</typePrefix><vendor>Икс</vendor><model>Реан</model>"
    loaded = load(yml(offer("a", extra=parts, name=None), offer("b", extra="<model>Реан</model>", name=None)))
    assert [record.content.title for record in loaded.records] == ["Комод Икс Реан", "Реан"]
    assert loaded.codes == []


@pytest.mark.parametrize(
    ("prefix", "vendor", "model", "title"),
    [
        ("Дрель", "Bosch", "Bosch GSR 12", "Дрель Bosch GSR 12"),
        ("Дрель", "BOSCH", "GSR 12 bosch", "Дрель GSR 12 bosch"),
        ("Дрель Bosch", "Bosch", "GSR 12", "Дрель Bosch GSR 12"),
        ("", "Bo", "Bosch GSR", "Bo Bosch GSR"),
        ("Комод", "", "Комод (дуб)", "Комод (дуб)"),
        ("Комод", "Икс", ".", ""),
    ],
)
def test_a_title_says_nothing_twice(
    load: Load, yml: WriteYml, offer: WriteOffer, prefix: str, vendor: str, model: str, title: str
) -> None:
    parts = f"<typePrefix>{prefix}</typePrefix><vendor>{vendor}</vendor><model>{model}</model>"
    (record,) = load(yml(offer("a", extra=parts, name=" - "))).records
    assert record.content.title == title
    assert [issue.code for issue in record.errors] == ([] if title else ["TITLE_MISSING"])


def test_the_place_of_an_issue_is_exact(load: Load, yml: WriteYml) -> None:
    text = (
        '<offer id="a"><name>Ложка</name><price>1</price><categoryId>1</categoryId>\n'
        "  <!-- <picture> --><picture>https://p.test/1</picture> <picture>bad one</picture>\n</offer>"
    )
    (issue,) = load(yml(text)).records[0].errors[1:]
    assert issue.code == "PICTURE_URL_INVALID"
    assert (issue.line, issue.path, issue.value, issue.field) == (8, "offer/picture[2]", "bad one", "picture")
    assert issue.excerpt.startswith("<picture>")
    assert text.split("\n")[1][issue.column - 1 :].startswith("<picture>bad one")


def test_columns_of_a_file_in_one_line_count_characters(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    offers = "".join(offer(f"й{n}", price="100" if n != 700 else "x") for n in range(800))
    content = yml(offers).replace(b"\n", b"")
    (issue,) = [error for record in load(content).records for error in record.errors]
    assert issue.line == 1
    assert issue.column == content.decode().index("<price>x") + 1
    assert issue.excerpt.startswith("<price>x</price>")


def test_offers_without_id_and_duplicates_travel_by_their_position(
    load: Load, yml: WriteYml, offer: WriteOffer
) -> None:
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


def test_an_offer_over_the_limit_is_rejected_alone(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    loaded = load(yml(offer("a"), offer("big", description="x" * 300_000), offer("c")))
    assert loaded.codes == [("big", "OFFER_TOO_LARGE")]
    assert not loaded.records[1].HasField("content")
    assert all(batch.ByteSize() < 900_000 for batch in loaded.batches)


def test_an_offer_of_too_many_elements_is_rejected_alone(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    loaded = load(yml(offer("a"), offer("b", extra="<price>x</price>" * 2_001), offer("c")))
    assert loaded.codes == [("b", "OFFER_TOO_LARGE")]
    assert "2,006 elements" in loaded.records[1].errors[0].message


FLAWS = {
    "oldprice": "x", "categoryId": "77", "url": "shop", "lat": "91", "lon": "0", "count": "x", "quantity": "x",
    "quantity_in_stock": "x", "stock_quantity": "x", "barcode": "b" * 513, "vendor": "v" * 513, "typePrefix": "t" * 513,
    "vendorCode": "c" * 513, "available": "maybe", "param": "x",
}  # fmt: skip


def test_all_issues_of_an_offer_are_placed_in_one_pass(
    load: Load, yml: WriteYml, offer: WriteOffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()
    for owner, name in ((issues, "child_places"), (issues, "places_in"), (gathering.TagTable, "elements")):
        kept = getattr(owner, name)

        def counting(*args: Any, kept: Callable[..., Any] = kept, name: str = name) -> Any:
            calls[name] += 1
            return kept(*args)

        monkeypatch.setattr(owner, name, counting)
    content = yml(*(offer(each, **FLAWS, extra="<picture>p</picture>") for each in "abc"), offer("good"))
    loaded = load(content.replace(b"\n", b""))
    assert [len(record.errors) for record in loaded.records] == [15, 15, 15, 0]
    assert set(calls.values()) == {3}, "each offer once"
    line = content.decode().replace("\n", "")
    for record in loaded.records:
        for issue in record.errors:
            tag = issue.path.rpartition("/")[2]
            assert line[issue.column - 1 :].startswith(f"<{tag}>"), issue


def test_an_issue_of_a_code_and_a_field_is_one_and_counted(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    pictures = "".join(f"<picture>bad {n}</picture>" for n in range(100))
    loaded = load(yml(offer("a", extra=pictures + "<picture>https://p.test/a b</picture>"), offer("b", price="x")))
    bad, escaped = loaded.records[0].errors
    assert (bad.code, bad.field, bad.value, bad.count, bad.path) == (
        "PICTURE_URL_INVALID", "picture", "bad 0", 100, "offer/picture",
    )  # fmt: skip
    assert bad.message.endswith("It is the first of 100 such values in this offer.")
    assert (escaped.code, escaped.count, escaped.path) == ("LINK_ESCAPED", 1, "offer/picture[101]")
    assert "first of" not in escaped.message
    (issue,) = loaded.records[1].errors
    assert (issue.code, issue.count) == ("PRICE_INVALID", 1)


def test_every_issue_of_a_code_has_its_place_and_words(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    flawed = [offer(f"a{n}", price=f"x{n}", extra="<picture>p</picture><picture>q</picture>") for n in range(150)]
    records = load(yml(*flawed)).records
    for number, record in enumerate(records):
        price, picture = record.errors
        assert (price.code, price.value, picture.code, picture.count) == (
            "PRICE_INVALID", f"x{number}", "PICTURE_URL_INVALID", 2,
        )  # fmt: skip
        assert f"x{number}" in price.message
        assert all(each.error_id and each.column and each.excerpt for each in record.errors)
        assert {each.line for each in record.errors} == {record.line}


def test_a_flood_of_issues_is_counted_and_cut(load: Load) -> None:
    """Product data, because an offer of YML has fewer codes and fields than that."""
    names = [f"custom_label_{n}" for n in range(5)] + [
        "condition", "color", "size", "material", "pattern", "gender", "age_group", "size_type", "size_system",
    ]  # fmt: skip
    flaws = {"g:brand": "b" * 513, "g:mpn": "m" * 513, "g:gtin": "1" * 513, "g:link": "x", "g:price": "5",
             "g:title": "",
             "g:image_link": "p", "g:quantity": "q", "g:availability": "a"}  # fmt: skip
    inside = "".join(f"<{tag}>{text}</{tag}>" for tag, text in flaws.items())
    inside += "".join(f"<g:{name}>{'x' * 16_385}</g:{name}>" for name in names)
    feed = f'<rss xmlns:g="http://base.google.com/ns/1.0"><channel><item><g:id>a</g:id>{inside}</item></channel></rss>'
    errors = load(feed.encode()).records[0].errors
    assert len(errors) == 20
    assert (errors[-1].code, errors[-1].message) == (
        "TOO_MANY_ISSUES",
        "4 further issues of this offer are not listed.",
    )


def test_a_patch_names_what_the_file_states_and_requests_nothing_else(load: Load) -> None:
    offers = '<offer id="1"><price>5</price><outlets><outlet instock="2"/><outlet instock="3"/></outlets></offer>'
    offers += '<offer id="2" available="false"/>'
    loaded = load(f"<yml_catalog><shop><offers>{offers}</offers></shop></yml_catalog>".encode(), patch=True)
    assert [list(record.named_fields) for record in loaded.records] == [["price", "stock_quantity"], ["available"]]
    assert loaded.records[0].content.stock_quantity == 5
    assert loaded.codes == []


def test_offers_elsewhere_in_the_file_do_not_count(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    """Both passes must agree on which elements are offers, or every line after one would be wrong."""
    nested = offer("b", extra='<bundle><offers><offer id="in"/></offers></bundle>')
    content = yml(offer("a"), nested, offer("c", price="x")).replace(
        b"<shop>", b"<shop><gifts><offer id='g'/></gifts>", 1
    )
    loaded = load(content)
    assert [record.external_id for record in loaded.records] == ["a", "b", "c"]
    assert [error.line for error in loaded.records[2].errors] == [9]
    assert loaded.scan.offer_count == 3


def test_categories_in_a_circle_end(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    circle = '<category id="1" parentId="2">А</category><category id="2" parentId="1">Б</category>'
    (record,) = load(yml(offer("a"), categories=circle)).records
    assert list(record.content.category_path) == ["Б", "А"]


def test_an_id_that_looks_like_a_stand_in_is_refused(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    """Two records of one batch would have the same id: the offer, and a duplicate with the prefix."""
    loaded = load(yml(offer("record:3"), offer("a"), offer("a")))
    assert [record.external_id for record in loaded.records] == ["record:1", "a", "record:3"]
    assert loaded.codes == [("record:1", "ID_RESERVED"), ("a", "DUPLICATE_ID")]


@pytest.mark.parametrize("tag", ["url", "picture"])
@pytest.mark.parametrize("path", ["a b.jpg", "x" * 150 + "/one two.jpg", "x" * 300 + "/one two.jpg" + "y" * 300])
def test_a_space_in_a_link_is_escaped_and_shown(
    load: Load, yml: WriteYml, offer: WriteOffer, tag: str, path: str
) -> None:
    (record,) = load(yml(offer("a", **{tag: f"https://p.test/{path}"}))).records
    (issue,) = record.errors
    content = record.content
    link = content.url if tag == "url" else content.picture_urls[0]
    assert link == f"https://p.test/{path}".replace(" ", "%20")
    assert (issue.code, issue.level) == ("LINK_ESCAPED", load_pb2.ISSUE_LEVEL_WARNING)
    around = "a b.jpg" if path == "a b.jpg" else "/one two.jpg"
    assert around in issue.message
    assert around in issue.value
    assert len(issue.value) <= 200


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("https://p.test/a\n   b.jpg", "https://p.test/ab.jpg"),
        ("//p.test/a b", "https://p.test/a%20b"),
        ("https://p.test/?q=a\u00a0b", "https://p.test/?q=a%C2%A0b"),
        ("https://p .test/a", ""),
        ("https://p.test/1.jpg https://p.test/2.jpg", "https://p.test/1.jpg"),
    ],
)
def test_blanks_in_links_are_escaped_where_that_gives_a_link(
    load: Load, yml: WriteYml, offer: WriteOffer, text: str, link: str
) -> None:
    (record,) = load(yml(offer("a", picture=text))).records
    assert "".join(record.content.picture_urls[:1]) == link
    assert len(record.content.picture_urls) == (0 if not link else 2 if "2.jpg" in text else 1)


@pytest.mark.parametrize("text", ["bad one", "ftp://shop.test/a b", "x" * 200 + " y"])
def test_what_is_no_link_without_its_spaces_either_is_not_blamed_on_them(
    load: Load, yml: WriteYml, offer: WriteOffer, text: str
) -> None:
    (issue,) = load(yml(offer("a", url=text))).records[0].errors
    assert "space" not in issue.message


@pytest.mark.parametrize(
    ("attribute", "available", "stock", "codes"),
    [
        ("12", True, 12, []),
        ("0", False, 0, []),
        ("1", True, 0, []),
        ("false", False, 0, []),
        ("нет", False, 0, []),
        ("в наличии", True, 0, []),
        ("нет в наличии", False, 0, []),
        ("pampam", True, 0, ["FIELD_INVALID"]),
        ("-3", True, 0, ["FIELD_INVALID"]),
    ],
)
@pytest.mark.parametrize("place", ["attribute", "element"])
def test_what_availability_says_and_what_it_does_not(
    load: Load,
    yml: WriteYml,
    offer: WriteOffer,
    place: str,
    attribute: str,
    available: bool,
    stock: int,
    codes: list[str],
) -> None:
    text = offer("a", available=None if place == "attribute" else attribute)
    if place == "attribute":
        text = text.replace('id="a"', f'id="a" available="{attribute}"')
    (record,) = load(yml(text)).records
    assert (record.content.available, record.content.stock_quantity) == (available, stock)
    assert [issue.code for issue in record.errors] == codes
    for issue in record.errors:
        assert issue.message == (
            f"“{attribute}” does not fit available, which expects true or false, or the number of pieces; "
            "it was left out."
        )
        assert issue.path == ("offer/@available" if place == "attribute" else "offer/available")
    (patched,) = load(yml(text), patch=True).records
    assert ("available" in patched.named_fields) == (not codes)


def test_a_stated_stock_counts_before_the_number_in_the_flag(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    text = offer("a", quantity="3").replace('id="a"', 'id="a" available="12"')
    assert load(yml(text)).records[0].content.stock_quantity == 3


@pytest.mark.parametrize(
    ("elements", "category_id", "path"),
    [
        ({"categoryId": None, "category": "Дом &gt; Кухня &gt; Чайники"}, "", ["Дом", "Кухня", "Чайники"]),
        ({"categoryId": None, "category": "Дом / ТВ/Аудио"}, "", ["Дом", "ТВ/Аудио"]),
        ({"categoryId": None, "product_type": "Дом | Кухня"}, "", ["Дом", "Кухня"]),
        ({"categoryId": None, "category": "1"}, "1", ["Кухня"]),
        ({"categoryId": "77", "category": "Дом &gt; Сад"}, "77", ["Дом", "Сад"]),
        ({"categoryId": "1", "category": "Дом &gt; Сад"}, "1", ["Кухня"]),
    ],
)
def test_a_category_in_words_is_a_path(
    load: Load,
    yml: WriteYml,
    offer: WriteOffer,
    elements: dict[str, str | None],
    category_id: str,
    path: list[str],
) -> None:
    loaded = load(yml(offer("a", **elements)))
    content = loaded.records[0].content
    assert (content.category_id, list(content.category_path)) == (category_id, path)
    assert loaded.codes == []
    assert loaded.scan.warnings == ()


@pytest.mark.parametrize(
    ("price", "micros"),
    [("1 200,50", 1_200_500_000), ("1 200", 1_200_000_000), ("1200 руб.", 1_200_000_000), ("1 200 ₽", 1_200_000_000)],
)
def test_amounts_are_read_as_in_other_formats(
    load: Load, yml: WriteYml, offer: WriteOffer, price: str, micros: int
) -> None:
    loaded = load(yml(offer("a", price=price, oldprice="2 000,00")))
    assert loaded.codes == []
    content = loaded.records[0].content
    assert (content.price.amount_micros, content.price.currency_code) == (micros, "RUB")
    assert content.old_price.amount_micros == 2_000_000_000


def test_a_currency_beside_the_amount_is_that_of_the_offer(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    loaded = load(yml(offer("a", price="10 EUR", currencyId=None)))
    assert loaded.codes == []
    assert loaded.records[0].content.price.currency_code == "EUR"


def test_a_price_of_zero_leaves_no_old_price_alone(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    loaded = load(yml(offer("a", price="0", oldprice="100")))
    assert loaded.codes == [("a", "PRICE_ZERO")]
    assert not loaded.records[0].content.HasField("old_price")


def test_texts_that_were_escaped_twice_are_reported(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    name = "Шкаф &amp;quot;Дуб&amp;quot; &amp;amp; полка &amp;nbsp;&amp;laquo;М&amp;raquo; &amp;foo;"
    (record,) = load(yml(offer("a", name=name, vendor="A&amp;amp;B", model="M&amp;M"))).records
    content = record.content
    assert (content.title, content.vendor, content.model) == ('Шкаф "Дуб" & полка «М» &foo;', "A&B", "M&M")
    assert [(issue.code, issue.path) for issue in record.errors] == [
        ("ESCAPED_TWICE", "offer/name"), ("ESCAPED_TWICE", "offer/vendor"),
    ]  # fmt: skip
    assert "“A&amp;B” was escaped twice" in record.errors[1].message


@pytest.mark.parametrize("external_id", ["7,46221E+11", "7.46221E+11", "1E+15", "#N/A", "#ЗНАЧ!", "#####"])
def test_ids_that_a_spreadsheet_destroyed_are_named(
    load: Load, yml: WriteYml, offer: WriteOffer, external_id: str
) -> None:
    loaded = load(yml(offer(external_id), offer("a"), offer(external_id), offer("A7E+11"), offer("7E11")))
    assert loaded.codes == [(external_id, "ID_DESTROYED")] * 2
    of, duplicate = offer_requests_pb2.RECORD_KIND_OFFER, offer_requests_pb2.RECORD_KIND_DUPLICATE
    # The service offers knows the first one by its id, and keeps it as it is.
    assert [record.kind for record in loaded.records] == [of, of, duplicate, of, of]


def test_the_file_of_mail_ru_is_yml_under_another_root(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    content = yml(offer("a")).replace(b"yml_catalog", b"torg_price")
    loaded = load(content)
    assert (loaded.scan.format, loaded.codes, loaded.records[0].content.title) == ("yml", [], "Чайник")
    with pytest.raises(FeedFault) as caught:
        load(b"<torg_price/>")
    assert "no <shop> inside <torg_price>" in caught.value.message


@pytest.mark.timeout(60)
@pytest.mark.parametrize("tag", ["picture", "url", "available", "category", "name", "price"])
@pytest.mark.parametrize("text", [" ", ",", "1 ", "&amp;a", "/ ", "1,"])
def test_long_texts_take_no_time(load: Load, yml: WriteYml, offer: WriteOffer, tag: str, text: str) -> None:
    """Patterns that restart at each blank of a run of blanks would take quadratic time."""
    inside = f"https://p.test/{text * (120_000 // len(text))}x"
    began = time.process_time()
    load(yml(offer("a", **{tag: inside}, extra=f"<model>{text * 200}</model><vendor>{text * 200}</vendor>")))
    assert time.process_time() - began < 5
