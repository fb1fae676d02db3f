"""Our own format has every field of an offer, and each wrong value has its code and its line."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1 import load_pb2
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_feeds.faults import FeedFault

from ...conftest import Load, Scan

CATEGORIES = '<categories><category id="1">Home</category><category id="2" parent="1">Kettles</category></categories>'
GOOD = '<title>Kettle</title>\n<category id="2"/>\n<price currency="RUB">5</price>\n'


def feed(*offers: str, head: str = CATEGORIES, version: str = '"1"') -> bytes:
    return f"<classifeed version={version}>{head}<offers>\n{''.join(offers)}</offers></classifeed>".encode()


WHOLE = """<offer id=" a1 "><title> Kettle <![CDATA[<steel>]]> &amp; lid </title>
<description><![CDATA[<p>Boils</p>]]></description><category id="2">Home > Kitchen &gt; Kettles</category>
<price currency="rur">1499.90</price><old_price>2000</old_price><url>https://shop.test/1</url>
<picture>https://p.test/1.jpg</picture><picture>https://p.test/2,http.jpg</picture><picture>https://p.test/1.jpg</picture>
<available>false</available><stock>7</stock><vendor>Volna</vendor><model>V</model><vendor_code>V-1</vendor_code>
<barcode>123</barcode><barcode>456</barcode><address>Kazan</address><location latitude="55.75" longitude="37.61"/>
<attribute name="Weight" unit="kg">1.2</attribute><attribute name="Colour">steel</attribute></offer>"""


def test_an_offer_can_say_everything_that_an_offer_has(load: Load) -> None:
    (record,) = load(feed(WHOLE)).records
    content = record.content
    assert not record.errors
    assert record.external_id == "a1"
    assert (content.title, content.description) == ("Kettle <steel> & lid", "<p>Boils</p>")
    assert (content.category_id, list(content.category_path)) == ("2", ["Home", "Kitchen", "Kettles"])
    assert (content.price.amount_micros, content.price.currency_code) == (1_499_900_000, "RUB")
    assert (content.old_price.amount_micros, content.old_price.currency_code) == (2_000_000_000, "RUB")
    assert list(content.picture_urls) == ["https://p.test/1.jpg", "https://p.test/2,http.jpg"]
    assert (content.vendor, content.model, content.vendor_code) == ("Volna", "V", "V-1")
    assert (list(content.barcodes), content.stock_quantity, content.available) == (["123", "456"], 7, False)
    assert (content.address, content.location.latitude, content.location.longitude) == ("Kazan", 55.75, 37.61)
    assert [(a.name, a.value, a.unit) for a in content.attributes] == [("Weight", "1.2", "kg"), ("Colour", "steel", "")]
    stated = {field.name for field, _ in content.ListFields()}
    assert stated | {"available"} == {field.name for field in OfferContent.DESCRIPTOR.fields}


def test_a_category_is_named_by_id_or_by_path(load: Load) -> None:
    by_id = GOOD.replace("\n", "")
    by_path = by_id.replace('<category id="2"/>', "<category>Garden > Chairs</category>")
    loaded = load(feed(f'<offer id="a">{by_id}</offer><offer id="b">{by_path}</offer>'))
    assert [list(record.content.category_path) for record in loaded.records] == [
        ["Home", "Kettles"], ["Garden", "Chairs"],
    ]  # fmt: skip
    assert loaded.codes == []


@pytest.mark.parametrize(
    ("inside", "code", "is_error", "line"),
    [
        (GOOD.replace(">5<", ">1,500<"), "PRICE_INVALID", True, 5),
        (GOOD.replace(">5<", ">5 USD<"), "PRICE_INVALID", True, 5),
        (GOOD.replace(">5<", ">0<"), "PRICE_ZERO", False, 5),
        (GOOD.replace(">5<", "><"), "PRICE_MISSING", False, 2),
        (GOOD.replace("RUB", "BUB"), "CURRENCY_UNKNOWN", True, 5),
        (GOOD.replace(' currency="RUB"', ""), "CURRENCY_MISSING", True, 2),
        (GOOD.replace('"2"', '"7"'), "CATEGORY_UNKNOWN", False, 4),
        (GOOD.replace('<category id="2"/>', ""), "CATEGORY_MISSING", False, 2),
        (GOOD.replace("Kettle", ""), "TITLE_MISSING", True, 2),
        (GOOD.replace("Kettle", "k" * 1_001), "TITLE_TOO_LONG", False, 3),
        (GOOD + "<old_price>x</old_price>", "OLD_PRICE_INVALID", False, 6),
        (GOOD + "<old_price>4.99</old_price>", "OLD_PRICE_NOT_HIGHER", False, 6),
        (GOOD + "<old_price>5.00</old_price>", "OLD_PRICE_NOT_HIGHER", False, 6),
        (GOOD + "<old_price>0</old_price>", "OLD_PRICE_NOT_HIGHER", False, 6),
        (GOOD + "<description>a<p>b</p></description>", "FIELD_INVALID", False, 6),
        (GOOD + "<url>shop.test</url>", "URL_INVALID", False, 6),
        (GOOD + "<picture>https://p.test/1</picture>\n<picture>p</picture>", "PICTURE_URL_INVALID", False, 7),
        (GOOD + "<stock>-1</stock>", "FIELD_INVALID", False, 6),
        (GOOD + "<available>maybe</available>", "FIELD_INVALID", False, 6),
        (GOOD + '<location latitude="91" longitude="0"/>', "COORDINATES_INVALID", False, 6),
        (GOOD + '<location latitude="9"/>', "COORDINATES_INVALID", False, 6),
        (GOOD + "<attribute>x</attribute>", "FIELD_INVALID", False, 6),
        (GOOD + f"<vendor>{'v' * 513}</vendor>", "FIELD_INVALID", False, 6),
        (GOOD + "<unknown/><x/>\n<stock>many</stock>", "FIELD_INVALID", False, 7),
    ],
)
def test_each_wrong_value_has_its_code_and_its_line(
    load: Load, inside: str, code: str, is_error: bool, line: int
) -> None:
    good = f'<offer id="good">{GOOD}</offer>'.replace("\n", "")
    loaded = load(feed(f'<offer id="bad">\n{inside}</offer>\n', good))
    (issue,) = loaded.records[0].errors
    assert (issue.code, issue.level == load_pb2.ISSUE_LEVEL_ERROR) == (code, is_error)
    assert (issue.external_id, issue.line) == ("bad", line)
    assert not any(word in issue.message + issue.suggestion + issue.expected for word in ("<name>", "currencyId", "{"))
    assert not loaded.records[1].errors


def test_an_old_price_that_is_not_above_the_price_is_left_out_and_reported(load: Load) -> None:
    (record,) = load(feed(f'<offer id="a">{GOOD}<old_price>4.50</old_price></offer>')).records
    (issue,) = record.errors
    assert issue.message == "The old price 4.50 is not above the price 5; the old price was left out."
    assert (issue.field, issue.value) == ("old_price", "4.50")
    assert record.content.price.amount_micros == 5_000_000
    assert not record.content.HasField("old_price")


def test_a_patch_takes_the_old_price_away_where_it_is_not_above_the_price(load: Load) -> None:
    offers = (
        '<offer id="1"><price>5</price><old_price>5</old_price></offer>'
        '<offer id="2"><price>5</price><old_price>9</old_price></offer><offer id="3"><old_price>1</old_price></offer>'
    )
    over, discounted, alone = load(feed(offers), patch=True).records
    assert (list(over.named_fields), over.content.HasField("old_price")) == (["price", "old_price"], False)
    assert [issue.code for issue in over.errors] == ["OLD_PRICE_NOT_HIGHER"]
    assert (list(discounted.named_fields), discounted.content.old_price.amount_micros) == (
        ["price", "old_price"],
        9_000_000,
    )
    assert (list(alone.named_fields), list(alone.errors)) == (["old_price"], []), "there is no price to compare it with"


def test_offers_without_id_and_duplicates_are_named(load: Load) -> None:
    loaded = load(feed(*(f"<offer{id_}>{GOOD}</offer>" for id_ in (' id="a"', "", ' id="a"'))))
    assert loaded.codes == [("record:2", "ID_MISSING"), ("a", "DUPLICATE_ID")]


def test_unknown_tags_are_one_warning_for_the_file(load: Load) -> None:
    loaded = load(feed(f'<offer id="a">{GOOD}<name/><name/></offer><offer id="b">{GOOD}<name/></offer>'))
    assert loaded.scan.warnings == ("Tags that the Classifeed format does not know were left out: <name> (3 times).",)


@pytest.mark.parametrize("version", ['"2"', '""', '"1.0"'])
def test_another_version_is_refused(scan: Scan, version: str) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(feed(version=version))
    assert caught.value.code == "STRUCTURE_WRONG"
    assert 'version="1"' in caught.value.message


def test_prices_and_stock_alone_are_a_patch(load: Load) -> None:
    offers = '<offer id="1"><price>5</price></offer><offer id="2"><stock>0</stock><available>false</available></offer>'
    loaded = load(feed(offers), patch=True)
    assert loaded.scan.stock_only
    assert [list(record.named_fields) for record in loaded.records] == [["price"], ["stock_quantity", "available"]]
    assert loaded.codes == []


def test_categories_with_a_parent_that_is_not_listed_are_one_warning(load: Load) -> None:
    listed = "".join(f'<category id="{n}" parent="{n + 100}">x</category>' for n in range(3, 25))
    head = CATEGORIES.replace("</categories>", f'<category id="c" parent="1">x</category>{listed}</categories>')
    offers = f'<offer id="a">{GOOD}</offer>'
    assert load(feed(offers)).scan.warnings == ()
    (warning,) = load(feed(offers, head=head)).scan.warnings
    assert warning.startswith(
        "Categories whose parent is not listed were loaded as top-level ones: 3 (parent 103), 4 (parent 104), "
    )
    assert warning.endswith("22 (parent 122) and 2 more.")


@pytest.mark.parametrize("tag", ["url", "picture"])
def test_a_space_in_a_link_is_escaped(load: Load, tag: str) -> None:
    (record,) = load(feed(f'<offer id="a">{GOOD}<{tag}>https://p.test/a b.jpg</{tag}></offer>')).records
    (issue,) = record.errors
    assert (issue.code, issue.path) == ("LINK_ESCAPED", f"offer/{tag}")
    assert "“https://p.test/a b.jpg” contains a space" in issue.message
    assert (record.content.url or record.content.picture_urls[0]) == "https://p.test/a%20b.jpg"


@pytest.mark.parametrize(
    ("price", "micros"), [("1 200,50", 1_200_500_000), ("1,5", 1_500_000), ("5 RUB", 5_000_000), ("5 ₽", 5_000_000)]
)
def test_what_our_schema_refuses_and_other_formats_read_is_read(load: Load, price: str, micros: int) -> None:
    loaded = load(feed(f'<offer id="a">{GOOD.replace(">5<", f">{price}<")}<available>да</available></offer>'))
    assert loaded.codes == []
    assert loaded.records[0].content.price.amount_micros == micros
    assert loaded.records[0].content.available


def test_the_currency_of_the_load_is_that_of_amounts_without_one(load: Load) -> None:
    content = feed(f'<offer id="a">{GOOD.replace(" currency=", " x=")}</offer>')
    assert load(content).codes == [("a", "CURRENCY_MISSING")]
    (record,) = load(content, default_currency="KZT").records
    assert [issue.code for issue in record.errors] == ["CURRENCY_ASSUMED"]
    assert record.content.price.currency_code == "KZT"
