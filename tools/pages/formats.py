"""The pages of the feed formats."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.google import GOOGLE_ATOM, GOOGLE_RSS
from classifeed_feeds.formats.google.tags import TABLE as GOOGLE_TABLE
from classifeed_feeds.formats.native import NATIVE
from classifeed_feeds.formats.registry import FORMATS
from classifeed_feeds.formats.yml import YML
from classifeed_feeds.formats.yml.tags import TABLE as YML_TABLE
from classifeed_feeds.mapping.extraction import TagTable
from tools.pages.schema_table import read_schema, render_table

_INDEX = """# Formats of feeds

`make pages` makes these pages, and a test compares them.

The format of a file is detected from its content, never from its name. A file may be compressed with gzip, or be the
only file in a zip archive. A file in another format fails as [UNKNOWN_FORMAT](../error-codes.md#unknown_format).
`classifeed feed formats` lists the formats and prints a sample of each.

These rules hold for every format:

- Amounts are read as `1499.90`, `1 200,50`, `1200 RUB` or `1 200 ₽`. `1,200` is ambiguous and refused.
- An amount without a currency has the currency of `--currency` of `feed add`, `feed set` or `feed upload`.
- Spaces in links are percent-encoded.
- A text that was escaped twice is unescaped twice.
- An availability that is not a known word counts as absent. A number above 1 is the stock.

## Formats
"""
_FIELDS = "\n## Names of fields in each format\n\n"
_NATIVE = """# The Classifeed format

{description} It is recognised by its {recognised_by}.
The table below is made from its schema, `feed.xsd`. `classifeed feed formats` prints the schema and the sample.

{rules}

Each offer is validated separately, so a bad offer rejects only itself. A bad optional value is left out with a warning.
A file whose offers have prices and stock but no description is an update, for loads in mode PATCH.

{table}
## Sample

```xml
{sample}```
"""
_READ = """
The table lists the elements of an offer that are read. Of several elements with the same meaning, the first with a
value counts. Other elements of the format are ignored. Unknown elements give one warning for the file. Offers with
prices and stock but no description are an update, for loads in mode PATCH.

{table}"""
_YML = (
    """# YML

{description}
It is recognised by its {recognised_by}.
"""
    + _READ
    + """
- The id is the attribute `id`. `<currencies>` and `<categories>` may be anywhere in `<shop>`.
- `available` is a flag, a word such as `в наличии`, or the number of pieces in stock.
- An offer without `<currencyId>` has the shop's main currency: the one with `rate="1"`, or the only one in the list.
  Without a main currency it has the currency of the load. Without that, it has RUB if the shop lists no currencies.
- An offer without a `<categoryId>` from the shop's list has the path in `<category>` or `<product_type>`, such as
  Home > Kitchen > Kettles. Without a path it is loaded without a category.
- The title is `<name>`. Without it, the title is `<typePrefix>`, `<vendor>` and `<model>`, without repetitions.

## Sample

```xml
{sample}```
"""
)
_GOOGLE = (
    """# Product data of Google and Facebook

{description}

- `google_rss` is recognised by its {rss},
- `google_atom` by its {atom}.

Elements have the prefix of the namespace, as in `<g:price>`. The prefix may differ from `g`, and some elements may lack
it. A file is read with a warning if it uses `g:` without a declaration, or if it has no prefix but items with an id, a
title and a price. Other RSS and Atom files are news, not feeds of products.
"""
    + _READ
    + """
- The id is `<g:id>`, or `<id>` without it.
- A price includes its currency: `1499.90 RUB`, `1,499.90 RUB`, `1 499,90 RUB` or `RUB 1499.90`.
- A sale price below the price becomes the price, and the price becomes the old price. If the price is zero, the sale
  price becomes the price.
- `in_stock` is available. `preorder` and `backorder` are not available now, and kept as the attribute `availability`.
- The path of the category is `<g:product_type>`. Without it, it is `<g:google_product_category>`, whose number is the
  id of the category, or `<category>`.

## Sample in RSS 2.0

```xml
{rss_sample}```

## Sample in Atom

```xml
{atom_sample}```
"""
)
_TAG = re.compile(r"<[a-z_]+>|http://\S+")


def render_index() -> str:
    """Return the page that lists the formats."""
    lines = [_INDEX]
    lines += [
        f"\n- [{each.title}]({_page_of(each)}), `{each.name}`: {_quote(each.recognised_by)}.\n  {each.description}"
        for each in FORMATS
    ]
    lines.append("\n" + _FIELDS)
    lines.append("| | " + " | ".join(f"`{each.name}`" for each in FORMATS) + " |\n")
    lines.append("| --- |" + " --- |" * len(FORMATS) + "\n")
    for field in ("offer", "id", "title", "description", "price", "currency", "category", "picture"):
        names = [f"`{getattr(each.names, field)}`" for each in FORMATS]
        lines.append(f"| {field} | " + " | ".join(names) + " |\n")
    return "".join(lines)


def render_native() -> str:
    """Return the page of our own format."""
    schema = NATIVE.read_file(NATIVE.schema)
    return _NATIVE.format(
        description=NATIVE.description,
        recognised_by=_quote(NATIVE.recognised_by),
        rules=_introduction(schema),
        table=render_table(read_schema(schema)),
        sample=NATIVE.read_file(NATIVE.sample).decode(),
    )


def render_yml() -> str:
    """Return the page of YML."""
    return _YML.format(
        description=YML.description,
        recognised_by=_quote(YML.recognised_by),
        table=_render_tags(YML_TABLE),
        sample=YML.read_file(YML.sample).decode(),
    )


def render_google() -> str:
    """Return the page of product data."""
    return _GOOGLE.format(
        description=GOOGLE_RSS.description,
        rss=_quote(GOOGLE_RSS.recognised_by),
        atom=_quote(GOOGLE_ATOM.recognised_by),
        table=_render_tags(GOOGLE_TABLE),
        rss_sample=GOOGLE_RSS.read_file(GOOGLE_RSS.sample).decode(),
        atom_sample=GOOGLE_ATOM.read_file(GOOGLE_ATOM.sample).decode(),
    )


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "README.md": render_index,
    "native.md": render_native,
    "yml.md": render_yml,
    "google.md": render_google,
}


def _page_of(found: Format) -> str:
    return "google.md" if found in (GOOGLE_RSS, GOOGLE_ATOM) else f"{found.name}.md"


def _introduction(schema: bytes) -> str:
    text = schema.decode().partition("<xs:documentation>")[2].partition("</xs:documentation>")[0]
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _quote(text: str) -> str:
    return _TAG.sub(r"`\g<0>`", text)


def _render_tags(table: TagTable) -> str:
    """Return the table of meanings and elements, with the element names without namespaces only."""
    pictures = dict.fromkeys(sorted(table.picture), "pictures")
    meanings: defaultdict[str, list[str]] = defaultdict(list)
    for name, meaning in {**table.single, **pictures, **table.special_meanings}.items():
        if not name.startswith("{"):
            meanings[meaning.replace("_", " ")].append(f"`<{name}>`")
    lines = ["| field | elements |", "| --- | --- |"]
    lines += [f"| {meaning} | {', '.join(names)} |" for meaning, names in meanings.items()]
    return "\n".join(lines) + "\n"
