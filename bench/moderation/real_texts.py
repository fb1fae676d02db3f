"""Titles and descriptions of real feeds, if their folder exists. They are read, never copied."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lxml import etree

FEEDS: Final = Path(os.environ.get("CLASSIFEED_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data") / "feeds"
_FIELDS: Final = frozenset({"title", "name", "description", "productname", "product_name", "comment"})
_MARKUP: Final = re.compile(r"<[^<>]{0,500}>|&[a-z#0-9]{2,8};")


def real_texts() -> list[str]:
    """Return the distinct texts; [] without feeds."""
    found: dict[str, None] = {}
    for path in sorted(FEEDS.glob("*")):
        for text in _texts(path):
            plain = " ".join(_MARKUP.sub(" ", text).split())
            if plain:
                found[plain] = None
    return list(found)


def _texts(path: Path) -> Iterator[str]:
    if path.suffix == ".xml":
        parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=True)
        root = etree.fromstring(path.read_bytes(), parser)
        for element in () if root is None else root.iter():
            if isinstance(element.tag, str) and etree.QName(element).localname.lower() in _FIELDS and element.text:
                yield element.text
    elif path.suffix in {".csv", ".tsv"}:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","):
                yield from (str(row[name] or "") for name in row if str(name).strip().lower() in _FIELDS)
