"""The docs pages of the formats: run as a module with a folder, it writes docs/reference/formats into it."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from classifeed_processor.feed.formats.format import Format
from classifeed_processor.feed.formats.google import GOOGLE_ATOM, GOOGLE_RSS
from classifeed_processor.feed.formats.google.tags import TABLE as GOOGLE_TABLE
from classifeed_processor.feed.formats.native import NATIVE
from classifeed_processor.feed.formats.registry import FORMATS
from classifeed_processor.feed.formats.yml import YML
from classifeed_processor.feed.formats.yml.tags import TABLE as YML_TABLE
from classifeed_processor.feed.mapping.extraction import TagTable
from tools.schema_table import read_schema, render_table

_INDEX = """# Formats of feeds

Made by `python -m tools.format_pages docs/reference/formats`; a test keeps them up to date.

Alike in every format: amounts are read as `1499.90`, `1 200,50`, `1200 RUB` or `1 200 ₽` (`1,200` may mean two amounts
and is refused); spaces in links are percent-encoded; a text that was escaped twice is unescaped once more; a word that
says nothing of availability counts as absent, and a number above 1 there is the stock. Amounts for which a file names
no currency have the one that `--currency` of `feed add`, `feed set` or `feed upload` names.

The format of a file is found from its content, never from its name. A file may be packed with gzip, or alone in a zip
archive. Anything else than what is listed here fails as [UNKNOWN_FORMAT](../error-codes.md#unknown_format).
`classifeed feed formats` lists the formats and gives a sample of each.
"""
_FIELDS = "\n## What each format calls its fields\n\n"
_NATIVE = """# The Classifeed format

{description} It is recognised by its {recognised_by}. Its schema is `feed.xsd`, from which
the table below is made; `classifeed feed formats` gives both the schema and the sample.

{rules}

Each offer is checked against the schema by itself: one bad offer is one rejected offer, and a bad value that the offer
can do without is left out with a warning. A file of offers with prices and stock and without anything that describes
them is an update, for loads in mode PATCH.

{table}
## Sample

```xml
{sample}```
"""
_READ = """
Of an offer these elements are read; of those that mean the same, the first that says something. Others of the format
are known and of no use yet; those that the format does not know are one warning for the file. Offers with prices and
stock and without anything that describes them are an update, for loads in mode PATCH.

{table}"""
_YML = (
    """# YML

{description}
It is recognised by its {recognised_by}.
"""
    + _READ
    + """
- The id is the attribute `id`. `<currencies>` and `<categories>` are read wherever in `<shop>` they stand.
- `available` is a flag, a word such as `в наличии`, or the number of pieces in stock.
- An offer without `<currencyId>` has the shop's main currency (`rate="1"`, or the only one that it lists), else the one
  of the load, else RUB where the shop lists none.
- An offer without `<categoryId>`, or with one that the shop does not list, has the path in `<category>` or
  `<product_type>`, such as Home > Kitchen > Kettles. Without any it is taken without a category.
- A title is `<name>`, or else `<typePrefix>`, `<vendor>` and `<model>`, each named once.

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

All elements have its prefix, as in `<g:price>`; the prefix may be another than `g`, and elements may lack it where the
file has it elsewhere. A file that uses `g:` without declaring it, or has no prefix at all and items with an id, a title
and a price, is read with a warning. Other RSS and Atom is news and no feed.
"""
    + _READ
    + """
- The id is `<g:id>`, and `<id>` where there is none.
- A price has its currency beside it: `1499.90 RUB`, also `1,499.90 RUB`, `1 499,90 RUB`, `RUB 1499.90`. A sale price
  below the price is the price, and the price is the old one; beside a price of zero it is the price.
- `in_stock` is available; `preorder` and `backorder` are not available now, and kept as the attribute `availability`.
- `<g:product_type>` is the path of the category, or else `<g:google_product_category>`, whose number is the category's
  id, or else `<category>`.

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
    """Return what is read from which elements, those without a namespace standing for the others."""
    pictures = dict.fromkeys(sorted(table.picture), "pictures")
    meanings: defaultdict[str, list[str]] = defaultdict(list)
    for name, meaning in {**table.single, **pictures, **table.special_meanings}.items():
        if not name.startswith("{"):
            meanings[meaning.replace("_", " ")].append(f"`<{name}>`")
    lines = ["| what | elements |", "| --- | --- |"]
    lines += [f"| {meaning} | {', '.join(names)} |" for meaning, names in meanings.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for file_name, render in PAGES.items():
        Path(sys.argv[1], file_name).write_text(render())
