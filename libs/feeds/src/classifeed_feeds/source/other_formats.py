"""Names of known unsupported formats, recognised by their first bytes, with advice for the seller."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

ADVICE: Final = (
    "It cannot be loaded yet. Most programs that write it can also write YML or Google's product data. Where yours "
    "cannot, write the offers in the Classifeed format"
)
TABLE_ADVICE: Final = (
    "Tables cannot be loaded yet. Shop systems that export a table can mostly export YML or Google's product data too. "
    "Where yours cannot, write the offers in the Classifeed format"
)
WORKBOOK_FIX: Final = f"{TABLE_ADVICE}: `classifeed feed formats native --sample FILE` saves a sample."
WORKBOOK: Final = "an Excel workbook (XLSX), a table"
# By the name of the root; if several formats share it, by an element that only one of them begins with.
_ROOTS: Final = {
    "Ads": "a feed for Avito's autoload",
    "realty-feed": "a feed for Yandex Realty",
    "openimmo": "a feed for OpenImmo",
    "trovit": "a feed for Trovit",
    "daft": "a feed for Daft.ie",
    "listings": "a catalogue of Meta for home listings, vehicles or hotels",
    "urlset": "a sitemap, which lists pages and no offers",
    "sitemapindex": "a sitemap, which lists pages and no offers",
    "КоммерческаяИнформация": "a CommerceML exchange of 1C",
    "feed": "an Atom feed without its namespace",
}
_FIRST_ELEMENTS: Final = (
    ("root", re.compile(rb"<kyero\b"), "a feed for Kyero"),
    ("feed", re.compile(rb"<feed_version\b"), "a feed for CIAN"),
    ("data", re.compile(rb"<cars\b|<car\b|<mark_id\b"), "a feed for auto.ru"),
    ("data", re.compile(rb"<trucks?\b|<motos?\b"), "a feed for auto.ru"),
)
_SEPARATORS: Final = {";": "semicolons", ",": "commas", "\t": "tabs", "|": "bars"}
_COLUMNS_SHOWN: Final = 6
_COLUMN_CHARS: Final = 30


def name_xml(root: str, start: bytes) -> str:
    """Return the format of an XML file, by its root and first bytes; empty: unknown."""
    for name, pattern, what in _FIRST_ELEMENTS:
        if root == name and pattern.search(start):
            return what
    return _ROOTS.get(root, "")


def name_table(text: str) -> str:
    """Return a description of the table that begins with this text; empty: it is not a table.

    A table has at least as many separators in each of its first lines as in the first one.
    """
    lines = [line for line in text.splitlines()[:5] if line.strip() and not line.startswith("#")]
    # The last line may be incomplete.
    whole = lines[:-1] if len(lines) > 2 else lines
    if len(lines) < 2:
        return ""
    counts = Counter({sign: lines[0].count(sign) for sign in _SEPARATORS})
    sign, columns = counts.most_common(1)[0]
    if not columns or any(line.count(sign) < columns for line in whole):
        return ""
    names = [name.strip(' "\ufeff')[:_COLUMN_CHARS] for name in lines[0].split(sign)]
    more = ", …" if len(names) > _COLUMNS_SHOWN else ""
    kind = "TSV" if sign == "\t" else "CSV"
    return f"a table ({kind} with {_SEPARATORS[sign]} between columns {', '.join(names[:_COLUMNS_SHOWN])}{more})"
