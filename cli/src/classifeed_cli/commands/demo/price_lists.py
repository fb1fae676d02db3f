"""The price lists that the demo loads: the small one of the package, and a big one made of its words."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape, unescape

_SAMPLE: Final = files("classifeed_cli") / "samples" / "home_and_garden.yml"
_SEED: Final = 20261101
_COLOURS: Final = ("белый", "серый", "синий", "зелёный", "чёрный", "дуб", "орех", "ясень")
_HEAD: Final = """<?xml version="1.0" encoding="UTF-8"?>
<yml_catalog date="2026-11-01 10:00">
  <shop>
    <name>Склад</name>
    <company>Склад</company>
    <url>https://warehouse.example</url>
    <currencies><currency id="RUB" rate="1"/></currencies>
    <categories><category id="1">Дом и сад</category></categories>
    <offers>
"""
_OFFER: Final = """      <offer id="{id}" available="true">
        <url>https://warehouse.example/offers/{id}</url>
        <price>{price}</price>
        <currencyId>RUB</currencyId>
        <categoryId>1</categoryId>
        <name>{name}</name>
        <description>{description}</description>
      </offer>
"""
_FOOT: Final = "    </offers>\n  </shop>\n</yml_catalog>\n"


@contextmanager
def sample_file() -> Iterator[Path]:
    """Gives the sample as a file."""
    with as_file(_SAMPLE) as path:
        yield Path(path)


def sample_titles() -> dict[int, str]:
    """Returns the titles of the sample's offers by their position in the file, from 1."""
    offers = _SAMPLE.read_text(encoding="utf-8").split("<offer ")[1:]
    return {ordinal: title for ordinal, offer in enumerate(offers, start=1) for title in _texts(offer, "name")}


def write_big_list(path: Path, count: int) -> Path:
    """Writes a price list of so many offers, the same at each call, and returns its path."""
    dice = random.Random(_SEED)  # noqa: S311 - prices, no secrets
    titles = list(sample_titles().values())
    descriptions = _texts(_SAMPLE.read_text(encoding="utf-8"), "description")
    with path.open("w", encoding="utf-8") as sink:
        sink.write(_HEAD)
        for number in range(1, count + 1):
            sink.write(
                _OFFER.format(
                    id=f"W-{number:05}",
                    price=dice.randrange(490, 99_000, 10),
                    name=escape(f"{dice.choice(titles)}, {dice.choice(_COLOURS)}, № {number}"),
                    description=escape(" ".join(dice.sample(descriptions, 2))),
                )
            )
        sink.write(_FOOT)
    return path


def _texts(xml: str, tag: str) -> list[str]:
    return [unescape(part.partition(f"</{tag}>")[0]) for part in xml.split(f"<{tag}>")[1:]]
