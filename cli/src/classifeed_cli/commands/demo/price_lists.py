"""Price lists of the demo: the samples of the package, a corrected one, and a big one generated from its texts."""

from __future__ import annotations

import random
import re
from importlib.resources import files
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, unescape

_SAMPLES: Final = files("classifeed_cli") / "samples"
ENGLISH: Final = "home_and_garden.xml"
RUSSIAN: Final = "home_and_garden.yml"
_PICTURE_LINK: Final = re.compile(r"https://shop\.example/(?:pictures/)?([a-z]-\d+\.jpg)")
# Changes of the shop in the English list: three corrections, one price, and (below) one removed item.
_MENDED: Final = (
    ("<g:price>449.00 – 549.00 EUR<", "<g:price>449.00 EUR<"),
    ("<g:title></g:title>", "<g:title>Compost bin, 300 l</g:title>"),
    ("<g:id>T-301</g:id>\n      <g:title>Leaf rake", "<g:id>T-307</g:id>\n      <g:title>Leaf rake"),
    ("<g:price>899.00 EUR<", "<g:price>849.00 EUR<"),
)
_SOLD_OUT: Final = "S-209"
NEW_BENCH: Final = "B-110"
_BENCH: Final = """    <item>
      <g:id>{id}</g:id>
      <g:title>Garden bench, beech, 120 cm</g:title>
      <g:description>{description}</g:description>
      <g:link>https://shop.example/b-110</g:link>
      <g:image_link>{pictures}/b-110.jpg</g:image_link>
      <g:availability>in_stock</g:availability>
      <g:price>129.00 EUR</g:price>
    </item>
"""
_SEED: Final = 20261101
_COLOURS: Final = ("white", "grey", "blue", "green", "black", "oak", "walnut", "ash")
_HEAD: Final = """<?xml version="1.0" encoding="UTF-8"?>
<yml_catalog date="2026-11-01 10:00">
  <shop>
    <name>Warehouse</name>
    <company>Warehouse</company>
    <url>https://warehouse.example</url>
    <currencies><currency id="EUR" rate="1"/></currencies>
    <categories><category id="1">Home and garden</category></categories>
    <offers>
"""
_OFFER: Final = """      <offer id="{id}" available="true">
        <url>https://warehouse.example/offers/{id}</url>
        <price>{price}</price>
        <currencyId>EUR</currencyId>
        <categoryId>1</categoryId>
        <name>{name}</name>
        <description>{description}</description>
      </offer>
"""
_FOOT: Final = "    </offers>\n  </shop>\n</yml_catalog>\n"


def read_sample(name: str, pictures: str) -> str:
    """Return a sample of the package, with `pictures` as the base URL of its pictures."""
    return _PICTURE_LINK.sub(rf"{pictures}/\1", (_SAMPLES / name).read_text(encoding="utf-8"))


def write_sample(path: Path, pictures: str) -> Path:
    """Write the sample of this file name, with `pictures` as the base URL of its pictures; return its path."""
    path.write_text(read_sample(path.name, pictures), encoding="utf-8")
    return path


def write_mended(path: Path, pictures: str) -> Path:
    """Write the corrected English sample, and return its path."""
    text = read_sample(ENGLISH, pictures)
    for wrong, right in _MENDED:
        text = text.replace(wrong, right)
    items = text.split("    <item>\n")
    path.write_text("    <item>\n".join(item for item in items if f"<g:id>{_SOLD_OUT}<" not in item), encoding="utf-8")
    return path


def write_with_new_bench(path: Path, description: str, pictures: str) -> Path:
    """Write the corrected sample with an additional item, and return its path."""
    text = write_mended(path, pictures).read_text(encoding="utf-8")
    item = _BENCH.format(id=NEW_BENCH, description=escape(description), pictures=pictures)
    path.write_text(text.replace("  </channel>", f"{item}  </channel>"), encoding="utf-8")
    return path


def write_big_list(path: Path, count: int) -> Path:
    """Write a price list of `count` offers, identical for each call, and return its path."""
    dice = random.Random(_SEED)  # noqa: S311 - prices, no secrets
    sample = (_SAMPLES / ENGLISH).read_text(encoding="utf-8")
    titles, descriptions = _texts(sample, "g:title"), _texts(sample, "g:description")
    with path.open("w", encoding="utf-8") as sink:
        sink.write(_HEAD)
        for number in range(1, count + 1):
            sink.write(
                _OFFER.format(
                    id=f"W-{number:05}",
                    price=dice.randrange(490, 99_000, 10) / 100,
                    name=escape(f"{dice.choice(titles)}, {dice.choice(_COLOURS)}, no. {number}"),
                    description=escape(" ".join(dice.sample(descriptions, 2))),
                )
            )
        sink.write(_FOOT)
    return path


def ids_of_big_list(path: Path) -> set[str]:
    """Read the ids of the offers from a file of `write_big_list`."""
    return {element.attrib["id"] for _, element in ET.iterparse(path) if element.tag == "offer"}  # noqa: S314 - ours


def _texts(xml: str, tag: str) -> list[str]:
    found = (unescape(part.partition(f"</{tag}>")[0]) for part in xml.split(f"<{tag}>")[1:])
    return [text for text in found if text]
