"""Files that mutations begin with: a sample of each format, small files with one feature each, shortened real feeds."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.first_pass import scan_feed
from classifeed_feeds.formats.registry import FORMATS
from classifeed_feeds.source.content import open_content
from classifeed_feeds.source.limits import DEFAULT_LIMITS
from classifeed_feeds.source.positions import read_positions
from classifeed_feeds.source.source import open_source

SHARED = Path(os.environ.get("CLASSIFEED_SHARED_DATA") or Path(__file__).parents[5] / "shared" / "data") / "feeds"
_MOST_BYTES = 48 << 10
_OFFERS = 12

_YML = """<?xml version="1.0" encoding="UTF-8"?>
<yml_catalog date="2026-01-01"><shop><name>Чай</name><currencies><currency id="RUB" rate="1"/></currencies>
<categories><category id="1">Дом</category><category id="2" parentId="1">Сад</category></categories><offers>
<offer id="a" available="true"><name>Чайник</name><price>100.50</price><oldprice>120</oldprice>
<currencyId>RUB</currencyId><categoryId>2</categoryId><url>https://shop.test/1</url><picture>https://shop.test/1.jpg</picture><count>5</count>
<description><![CDATA[<b>Хороший</b>]]></description><param name="Вес" unit="кг">1</param>
<barcode>4600000000000</barcode>
<outlets><outlet id="1" instock="3"/></outlets><latitude>55.7</latitude><longitude>37.6</longitude></offer>
<offer id="b"/><offer id="a"><model>M</model><vendor>V</vendor><price>x</price></offer><offer/>
</offers></shop></yml_catalog>
"""
_RSS = """<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>t</title><item><g:id>1</g:id>
<g:title>Kettle</g:title><g:price>10.00 EUR</g:price><g:sale_price>9,00 EUR</g:sale_price>
<g:availability>in stock</g:availability>
<link>https://shop.test/1</link><g:image_link>https://shop.test/1.jpg</g:image_link><g:quantity>3</g:quantity>
<g:product_type>Home &gt; Kitchen</g:product_type><g:google_product_category>536</g:google_product_category>
<g:shipping_weight>1.5 kg</g:shipping_weight><g:product_detail><g:attribute_name>a</g:attribute_name>
<g:attribute_value>b</g:attribute_value></g:product_detail><g:gtin>0400000000000</g:gtin></item><item><id>2</id></item>
</channel></rss>"""
_NATIVE = """<classifeed version="1"><categories><category id="1">Home</category>
<category id="2" parent="9">Garden</category></categories><offers><offer id="1"><title>Kettle</title>
<price currency="EUR">10</price>
<category id="1">Home &gt; Kettles</category>
<location latitude="55.5" longitude="37.5"/><stock>4</stock><available>true</available>
<picture>https://shop.test/1.jpg</picture>
<attribute name="a" unit="kg">1</attribute><barcode>1</barcode></offer><offer id="2"/></offers></classifeed>"""

_SLOPPY = """<torg_price><shop><categories><category id="1">A &amp;amp; B</category></categories><offers>
<offer id="7,46221E+11" available="12"><typePrefix>Чайник</typePrefix><vendor>V</vendor><model>V &amp;quot;1&amp;quot;
</model><price>1 200,50 руб.</price><oldprice>12..5</oldprice><category>Дом &gt; Кухня / Чай</category>
<url>https://shop.test/a b</url>
<picture>https://shop.test/1.jpg https://shop.test/ 2.jpg</picture>
<picture>https://shop.test/я я</picture></offer>
<offer id="b" available="скоро"><name>.</name><price>0</price><oldprice>5</oldprice></offer>
</offers></shop></torg_price>
"""


@dataclass(frozen=True)
class Corpus:
    """Files to begin with, valid and invalid ones; `has_real`: whether real feeds are included."""

    loadable: list[bytes]
    others: list[bytes]
    has_real: bool


def load_corpus() -> Corpus:
    """Return the files to begin with; they are the same on every machine with the same feeds."""
    seeds = [text.encode() for text in (_YML, _RSS, _NATIVE)]
    seeds.append(_YML.replace("UTF-8", "windows-1251").encode("cp1251"))
    undeclared = _RSS.replace(' xmlns:g="http://base.google.com/ns/1.0"', "")
    seeds += [text.encode() for text in (_SLOPPY, "\ufeff\ufeff" + _SLOPPY, undeclared, undeclared.replace("g:", ""))]
    seeds += [undeclared.encode("utf-16"), undeclared.replace("\n", "").encode()]
    seeds += [found.read_file(found.sample) for found in FORMATS]
    real = [_cut(path) for path in sorted(SHARED.iterdir()) if path.is_file()] if SHARED.is_dir() else []
    files = seeds + real
    loadable = [content for content in files if _is_loadable(content)]
    return Corpus(loadable, [content for content in files if content not in loadable], bool(real))


def _is_loadable(content: bytes) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "source"
        path.write_bytes(content)
        try:
            scan_feed(open_source(path, DEFAULT_LIMITS), Path(folder))
        except FeedFault:
            return False
        except Exception:  # noqa: BLE001
            return True  # a fault of the readers, to be found with all the others
    return True


def _cut(path: Path) -> bytes:
    """Return a feed with only its first offers, or the beginning of another file."""
    content = path.read_bytes()
    if len(content) <= _MOST_BYTES:
        return content
    with tempfile.TemporaryDirectory() as folder:
        try:
            scan = scan_feed(open_source(path, DEFAULT_LIMITS), Path(folder))
        except FeedFault:
            return content[:_MOST_BYTES]
        ranges = list(read_positions(scan.positions))
        with open_content(scan.source, scan.opening) as stream:
            text = stream.read(len(content) * 10)
    kept = min(_OFFERS, len(ranges))
    # Lists of categories may be long, so their tail is removed, too.
    head = text[: ranges[0][0]]
    return head[: _MOST_BYTES // 2] + text[ranges[0][0] : ranges[kept - 1][1]] + text[ranges[-1][1] :]
