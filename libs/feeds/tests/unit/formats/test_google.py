"""Product data of Google and Facebook as shops write it: deviations are accepted, and each wrong value has its code."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from classifeed.feeds.v1 import load_pb2, offer_requests_pb2
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.locate import locate_offer
from classifeed_feeds.mapping.amounts import read_money
from classifeed_feeds.mapping.availability import read_availability
from classifeed_feeds.source.limits import DEFAULT_LIMITS
from classifeed_feeds.source.source import open_source

from ...conftest import Load, Scan

GOOGLE = "http://base.google.com/ns/1.0"
GOOD = {"id": "a", "title": "Teapot", "link": "https://shop.test/1", "price": "10.50 EUR", "availability": "in_stock"}


def fields(prefix: str = "g:", **changes: str | None) -> str:
    values = {**GOOD, **changes}
    return "".join(f"<{prefix}{name}>{text}</{prefix}{name}>" for name, text in values.items() if text is not None)


def product(extra: str = "", prefix: str = "g:", **changes: str | None) -> str:
    return f"<item>{fields(prefix, **changes)}{extra}</item>"


def prolog(encoding: str) -> str:
    return f'<?xml version="1.0" encoding="{encoding}"?>\n'


def rss(*items: str, declared: str = f'xmlns:g="{GOOGLE}"', prolog: str = "", encoding: str = "utf-8") -> bytes:
    head = "<title>Shop</title><link>https://shop.test</link><description>News</description>"
    text = f'{prolog}<rss version="2.0" {declared}>\n<channel>{head}\n' + "\n".join(items) + "\n</channel></rss>\n"
    return text.encode(encoding)


def atom(*entries: str) -> bytes:
    head = '<title>Shop</title><link rel="self" href="https://shop.test/feed"/><id>tag:shop.test</id>'
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="{GOOGLE}">{head}\n' + "\n".join(entries) + "\n</feed>"
    ).encode()


def content_of(load: Load, feed: bytes) -> OfferContent:
    (record,) = load(feed).records
    assert not record.errors, record.errors
    return record.content


WHOLE = """<g:id> SW 1 </g:id><g:title>  Teapot <![CDATA[<steel>]]> &amp; lid</g:title>
<g:description><![CDATA[<p>Boils&nbsp;<b>fast</b></p>]]></g:description>
<g:link> https://shop.test/1?a=1&amp;b=2 </g:link><g:image_link>https://p.test/1.jpg</g:image_link>
<g:additional_image_link>https://p.test/2.jpg, https://p.test/3,4.jpg</g:additional_image_link>
<g:additional_image_link>https://p.test/1.jpg</g:additional_image_link><g:additional_image_link/>
<g:shipping><g:country>DE</g:country><g:price>4.95 EUR</g:price></g:shipping>
<g:price>1,299.00 EUR</g:price><g:sale_price>999 EUR</g:sale_price><g:availability>preorder</g:availability>
<g:condition>new</g:condition><g:brand>Bork</g:brand><g:gtin>3783710402524</g:gtin><g:mpn>K-1</g:mpn>
<g:google_product_category>6356</g:google_product_category><g:product_type>Home &gt; Kitchen>Teapots</g:product_type>
<g:quantity>7</g:quantity><g:color>red/blue</g:color><g:item_group_id>G1</g:item_group_id>
<g:shipping_weight>1.5 kg</g:shipping_weight><g:custom_label_0>sale</g:custom_label_0>
<g:product_detail><g:section_name>Size</g:section_name><g:attribute_name>Volume</g:attribute_name>
<g:attribute_value>2 l</g:attribute_value></g:product_detail>"""


@pytest.mark.parametrize("feed", [rss(f"<item>{WHOLE}</item>"), atom(f"<entry>{WHOLE}</entry>")], ids=["rss", "atom"])
def test_a_good_product_is_mapped_whole(load: Load, feed: bytes) -> None:
    (record,) = load(feed).records
    content = record.content
    assert record.external_id == "SW 1"
    assert not record.errors
    assert (content.title, content.vendor, content.vendor_code) == ("Teapot <steel> & lid", "Bork", "K-1")
    assert content.description == "<p>Boils&nbsp;<b>fast</b></p>"
    assert content.url == "https://shop.test/1?a=1&b=2"
    assert list(content.picture_urls) == ["https://p.test/1.jpg", "https://p.test/2.jpg", "https://p.test/3,4.jpg"]
    assert (content.price.amount_micros, content.price.currency_code) == (999_000_000, "EUR")
    assert content.old_price.amount_micros == 1_299_000_000
    assert (content.category_id, list(content.category_path)) == ("6356", ["Home", "Kitchen", "Teapots"])
    assert list(content.barcodes) == ["3783710402524"]
    assert (content.stock_quantity, content.available) == (7, False)
    assert [(a.name, a.value, a.unit) for a in content.attributes] == [
        ("condition", "new", ""), ("color", "red/blue", ""), ("item_group_id", "G1", ""),
        ("shipping_weight", "1.5", "kg"), ("custom_label_0", "sale", ""), ("Volume", "2 l", ""),
        ("availability", "preorder", ""),
    ]  # fmt: skip
    assert len(record.content_hash) == 16


@pytest.mark.parametrize(
    ("text", "micros", "currency"),
    [
        ("10.00 USD", 10_000_000, "USD"),
        ("1,33 RUB", 1_330_000, "RUB"),
        ("USD 10", 10_000_000, "USD"),
        ("10.5USD", 10_500_000, "USD"),
        ("€ 10", 10_000_000, "€"),
        ("68000 руб.", 68_000_000_000, "руб."),
        ("1,234.56 USD", 1_234_560_000, "USD"),
        ("1.234,56 EUR", 1_234_560_000, "EUR"),
        ("1 234 567,80 RUB", 1_234_567_800_000, "RUB"),
        ("1\u00a0234 RUB", 1_234_000_000, "RUB"),
        ("1'234.50 CHF", 1_234_500_000, "CHF"),
        ("1,234,567 JPY", 1_234_567_000_000, "JPY"),
        ("12345.678 KWD", 12_345_678_000, "KWD"),
        ("10", 10_000_000, ""),
        ("0.00 EUR", 0, "EUR"),
    ],
)
def test_prices_are_read_as_shops_write_them(text: str, micros: int, currency: str) -> None:
    assert read_money(text) == (micros, currency)


@pytest.mark.parametrize(
    "text",
    ["", "EUR", "1,234 EUR", "4.86 -- 6.22 USD", "1.2.3 EUR", "1,23,456 EUR", "-5 EUR", "from 5.00 EUR", "1e5 EUR",
     "٣ EUR", "1,234,56 EUR", "1 2 EUR", "NaN EUR", "USD 5 EUR", "9999999999999 EUR"],
)  # fmt: skip
def test_what_is_not_one_amount_is_none(text: str) -> None:
    assert read_money(text) is None


@pytest.mark.parametrize(
    ("text", "now", "later"),
    [
        ("in stock", True, False), ("in_stock", True, False), ("IN STOCK", True, False), ("In-Stock", True, False),
        ("https://schema.org/InStock", True, False), ("available", True, False), ("В наличии", True, False),
        ("out of stock", False, False), ("OutOfStock", False, False), ("discontinued", False, False),
        ("preorder", False, True), ("pre-order", False, True), ("backorder", False, True),
        ("available for order", False, True),
    ],
)  # fmt: skip
def test_words_for_availability(text: str, now: bool, later: bool) -> None:
    assert read_availability(text) == (now, later, -1)


def test_the_sale_price_counts_and_the_price_is_the_old_one(load: Load) -> None:
    def prices(price: str, sale: str) -> tuple[int, int]:
        content = content_of(load, rss(product(price=price, sale_price=sale)))
        return content.price.amount_micros // 10**6, content.old_price.amount_micros // 10**6

    assert prices("10 EUR", "8 EUR") == (8, 10)
    assert prices("10 EUR", "8") == (8, 10)
    # Shops fill in the field even if there is no sale.
    assert prices("10 EUR", "10 EUR") == (10, 0)
    assert prices("10 EUR", "0 EUR") == (10, 0)
    assert prices("", "8 EUR") == (8, 0)


def test_a_sale_price_beside_a_price_of_zero_is_the_price(load: Load) -> None:
    (record,) = load(rss(product(price="0 EUR", sale_price="8 EUR"))).records
    assert record.content.price.amount_micros == 8_000_000
    assert not record.content.HasField("old_price")
    (issue,) = record.errors
    assert (issue.code, issue.message) == ("PRICE_ZERO", "The price is zero; the sale price was used.")


def test_the_sale_price_may_name_the_currency_of_both(load: Load) -> None:
    content = content_of(load, rss(product(price="10", sale_price="8 EUR")))
    assert (content.price.currency_code, content.old_price.currency_code) == ("EUR", "EUR")


@pytest.mark.parametrize(
    ("changes", "code", "is_error"),
    [
        ({"price": "4.86 -- 6.22 USD"}, "PRICE_INVALID", True),
        ({"price": "1,234 EUR"}, "PRICE_INVALID", True),
        ({"price": "0 EUR"}, "PRICE_ZERO", False),
        ({"price": None}, "PRICE_MISSING", False),
        ({"price": ""}, "PRICE_MISSING", False),
        ({"price": "10.00"}, "CURRENCY_MISSING", True),
        ({"price": "10.00 BUB"}, "CURRENCY_UNKNOWN", True),
        ({"price": "$10.00"}, "CURRENCY_UNKNOWN", True),
        ({"sale_price": "11 EUR"}, "FIELD_INVALID", False),
        ({"sale_price": "5 USD"}, "FIELD_INVALID", False),
        ({"sale_price": "cheap"}, "FIELD_INVALID", False),
        ({"title": " "}, "TITLE_MISSING", True),
        ({"title": "x" * 1_001}, "TITLE_TOO_LONG", False),
        ({"link": "shop"}, "URL_INVALID", False),
        ({"link": "javascript:alert(1)"}, "URL_INVALID", False),
        ({"link": "https://shop.test/" + "x" * 5_000}, "URL_INVALID", False),
        ({"image_link": "file:///etc/passwd"}, "PICTURE_URL_INVALID", False),
        ({"availability": "perhaps"}, "FIELD_INVALID", False),
        ({"quantity": "many"}, "FIELD_INVALID", False),
        ({"brand": "b" * 513}, "FIELD_INVALID", False),
        ({"gtin": "1" * 513}, "FIELD_INVALID", False),
        ({"color": "r" * 16_385}, "FIELD_INVALID", False),
        ({"latitude": "91", "longitude": "0"}, "COORDINATES_INVALID", False),
    ],
)
def test_each_wrong_value_has_its_code(load: Load, changes: dict[str, str | None], code: str, is_error: bool) -> None:
    loaded = load(rss(product(id="good"), product("", "g:", **changes), product(id="good2")))
    (issue,) = loaded.records[1].errors
    assert (issue.code, issue.level == load_pb2.ISSUE_LEVEL_ERROR) == (code, is_error)
    assert (issue.external_id, issue.ordinal, issue.line) == ("a", 2, 4)
    # It names only elements of this format.
    assert not any(word in issue.message + issue.suggestion + issue.expected for word in ("<name>", "currencyId", "{"))
    assert issue.field.startswith("g:") or issue.field == "color"
    assert not loaded.records[0].errors
    assert not loaded.records[2].errors


def test_an_issue_lies_on_its_element_and_not_on_one_inside_another(load: Load) -> None:
    shipping = "<g:shipping>\n<g:price>4.95 GBP</g:price></g:shipping>\n<!-- <g:price> -->"
    (record,) = load(rss(f"<item><g:id>a</g:id><g:title>t</g:title>{shipping}\n  <g:price>x</g:price></item>")).records
    (issue,) = record.errors
    assert (issue.line, issue.column, issue.path) == (6, 3, "item/g:price")
    assert issue.excerpt.startswith("<g:price>x</g:price>")


def test_ids_are_distinguished_from_those_of_atom_and_missing_ones_named(load: Load) -> None:
    loaded = load(
        atom(
            f"<entry><id>tag:shop.test,1</id>{fields()}</entry>",
            f"<entry><id>tag:shop.test,2</id>{fields(id=None)}</entry>",
            f"<entry><g:id> </g:id>{fields(id=None)}</entry>",
            f"<entry><g:id>a</g:id>{fields(id=None)}</entry>",
            f"<entry>{fields(id='x' * 257)}</entry>",
        )
    )
    assert [record.external_id for record in loaded.records] == [
        "a", "tag:shop.test,2", "record:3", "record:4", "record:5",
    ]  # fmt: skip
    assert loaded.codes == [("record:3", "ID_MISSING"), ("a", "DUPLICATE_ID"), ("record:5", "ID_TOO_LONG")]
    assert loaded.records[3].kind == offer_requests_pb2.RECORD_KIND_DUPLICATE
    (missing,) = loaded.records[2].errors
    assert (missing.field, missing.path) == ("g:id", "entry")
    assert "<g:id>" in missing.suggestion


def test_atom_has_its_own_names_for_title_text_and_link(load: Load) -> None:
    entry = (
        '<entry><title type="html">Teapot</title><link rel="self" href="https://shop.test/feed"/>'
        '<link href="https://shop.test/1"/><summary>Steel</summary><updated>2026-01-01T00:00:00Z</updated>'
        "<g:id>1</g:id><g:price>5 EUR</g:price></entry>"
    )
    loaded = load(atom(entry))
    content = loaded.records[0].content
    assert (content.title, content.url, content.description) == ("Teapot", "https://shop.test/1", "Steel")
    assert (loaded.codes, loaded.scan.warnings, loaded.scan.format) == ([], (), "google_atom")


OWN_DECLARATION = product(prefix="").replace("<id>", f'<g:id xmlns:g="{GOOGLE}">').replace("</id>", "</g:id>")


@pytest.mark.parametrize(
    "feed",
    [
        pytest.param(rss(product()), id="as it should be"),
        pytest.param(
            rss(product(prefix="gm:"), declared=f'xmlns:gm="{GOOGLE}"'), id="another prefix"
        ),
        pytest.param(rss(product(prefix="")), id="no prefix at all, but declared"),
        pytest.param(rss(product(prefix=""), declared=f'xmlns="{GOOGLE}"'), id="the namespace of everything"),
        pytest.param(rss(product(), declared=f'xmlns:g="{GOOGLE}/"'), id="a slash behind"),
        pytest.param(rss(product(), declared='xmlns:g="https://base.google.com/ns/1.0"'), id="https"),
        pytest.param(
            rss(product().replace("<item>", f'<item xmlns:g="{GOOGLE}">'), declared=""), id="declared in each item"
        ),
        pytest.param(rss(OWN_DECLARATION, declared=""), id="declared in each element"),
        pytest.param(rss(product(), declared=f'xmlns:g="{GOOGLE}" xmlns:c="http://base.google.com/cns/1.0"'), id="cns"),
        pytest.param(gzip.compress(rss(product())), id="packed"),
        pytest.param(rss(product(), prolog=prolog("windows-1251"), encoding="cp1251"), id="1251"),
        pytest.param(rss(product(), prolog=prolog("UTF-16"), encoding="utf-16"), id="utf-16"),
        pytest.param(
            rss(product()).replace(b"<channel>", b"<title/><link>x</link><channel>"), id="a head outside of the channel"
        ),
        pytest.param(rss(product(availability="IN STOCK")), id="capitals"),
        pytest.param(rss(product(extra="<g:title>Other</g:title><title>Third</title>")), id="the first title counts"),
    ],
)  # fmt: skip
def test_habits_of_shops_change_nothing(load: Load, feed: bytes) -> None:
    loaded = load(feed)
    assert (loaded.scan.format, loaded.scan.warnings, loaded.codes) == ("google_rss", (), [])
    (record,) = loaded.records
    content = record.content
    assert (record.external_id, content.title, content.url) == ("a", "Teapot", "https://shop.test/1")
    assert (content.price.amount_micros, content.price.currency_code) == (10_500_000, "EUR")
    assert content.available


def test_cyrillic_is_read_in_its_encoding_and_under_a_wrong_name(load: Load) -> None:
    item = product(title="Съёмный жёсткий диск № 5", brand="Мир")
    for declared, warned in (("windows-1251", False), ("UTF-8", True)):
        loaded = load(rss(item, prolog=prolog(declared), encoding="cp1251"))
        content = loaded.records[0].content
        assert (content.title, content.vendor) == ("Съёмный жёсткий диск № 5", "Мир")
        assert bool(loaded.scan.warnings) is warned


def test_markup_that_nobody_hid_is_read_as_text(load: Load) -> None:
    content = content_of(load, rss(product(description="<p>Boils <b>fast</b></p>")))
    assert content.description == "Boils fast"


def test_unknown_tags_are_one_warning_for_the_file(load: Load) -> None:
    loaded = load(
        rss(
            product("<max_price>1</max_price><g:wow/><media:content xmlns:media='urn:media'/>"),
            product("<g:wow/>", id="b", price="x"),
        )
    )
    assert loaded.scan.warnings == (
        "Tags that Google's product data does not know were left out: <g:wow> (2 times), <max_price> (once).",
    )
    assert loaded.codes == [("b", "PRICE_INVALID")]


@pytest.mark.parametrize(
    "feed",
    [
        rss("<item><title>News</title><guid>1</guid></item>", declared=""),
        rss("<item><id>1</id><title>News</title></item>", declared='xmlns:media="http://search.yahoo.com/mrss/"'),
        b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title>News</title></entry></feed>',
    ],
)
def test_news_are_no_feed_and_the_advice_says_what_is_missing(scan: Scan, feed: bytes) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(feed)
    assert caught.value.code == "UNKNOWN_FORMAT"
    assert f'xmlns:g="{GOOGLE}"' in caught.value.message


@pytest.mark.parametrize(
    "feed",
    [
        pytest.param(rss(product(prefix=""), declared=""), id="no prefix"),
        pytest.param(rss(product(prefix=""), declared='xmlns:media="http://search.yahoo.com/mrss/"'), id="another one"),
        pytest.param(rss(product(), declared=""), id="a prefix that nobody declared"),
        pytest.param(rss(product(), declared="", prolog=prolog("UTF-8") + "<!-- <rss> -->"), id="behind a comment"),
        pytest.param(rss(product(), declared="", prolog=prolog("UTF-16"), encoding="utf-16"), id="utf-16"),
        pytest.param(atom(f"<entry>{fields()}</entry>").replace(f' xmlns:g="{GOOGLE}"'.encode(), b""), id="atom"),
    ],
)  # fmt: skip
def test_products_without_the_declaration_are_read_by_their_content(load: Load, feed: bytes) -> None:
    loaded = load(feed)
    assert loaded.codes == []
    assert [(record.external_id, record.content.title) for record in loaded.records] == [("a", "Teapot")]
    (warning,) = loaded.scan.warnings
    assert f'xmlns:g="{GOOGLE}"' in warning


@pytest.mark.parametrize("line_break", ["\n", ""])
def test_places_in_a_file_without_the_declaration_are_those_of_the_file(
    load: Load, tmp_path: Path, line_break: str
) -> None:
    text = rss(product(), product(id="b", price="x"), declared="").decode().replace("\n", line_break)
    (issue,) = load(text.encode()).records[1].errors
    line = text.split("\n")[issue.line - 1]
    assert line[issue.column - 1 :].startswith("<g:price>x<")
    (tmp_path / "one").write_text(text)
    (place,) = locate_offer(open_source(tmp_path / "one", DEFAULT_LIMITS), tmp_path, "b")
    assert text.split("\n")[place.line - 1][place.column - 1 :].startswith("<item><g:id>b<")


def test_the_metadata_of_meta_is_no_stray_tag(load: Load) -> None:
    about = "<metadata><ref_application_id>1</ref_application_id></metadata>"
    assert load(rss(about, product())).scan.warnings == ()


def test_a_feed_of_prices_and_stock_is_a_patch(load: Load) -> None:
    loaded = load(rss("<item><g:id>1</g:id><g:price>5 EUR</g:price><g:availability>in stock</g:availability></item>"))
    assert loaded.scan.stock_only
    items = (
        "<item><g:id>1</g:id><g:sale_price>5</g:sale_price></item><item><g:id>2</g:id><g:quantity>0</g:quantity></item>"
    )
    patched = load(rss(items), patch=True)
    assert [list(record.named_fields) for record in patched.records] == [["price"], ["stock_quantity"]]
    assert patched.codes == []


def test_items_elsewhere_in_the_file_do_not_count(load: Load) -> None:
    feed = rss(product(), "<box><item><g:id>no</g:id></item></box>", product("<g:x><item/></g:x>", id="b", price="x"))
    loaded = load(feed)
    assert [record.external_id for record in loaded.records] == ["a", "b"]
    assert [error.line for error in loaded.records[1].errors] == [5]


def test_a_file_without_the_channel_lacks_its_structure(scan: Scan) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(f'<rss xmlns:g="{GOOGLE}"><item/></rss>'.encode())
    assert caught.value.code == "STRUCTURE_WRONG"
    assert "<channel> inside <rss>" in caught.value.message


def test_what_describes_the_shop_is_no_stray_tag(load: Load, scan: Scan) -> None:
    about = '<lastBuildDate>x</lastBuildDate><ttl>60</ttl><i:owner xmlns:i="urn:i"/><a:link xmlns:a="http://www.w3.org/2005/Atom"/>'
    assert load(rss(about, product())).scan.warnings == ()
    assert scan(rss(about)).warnings == ("The file has no offers.",)
    assert scan(atom("<updated>x</updated>", "<author><name>x</name></author>")).warnings == (
        "The file has no offers.",
    )
