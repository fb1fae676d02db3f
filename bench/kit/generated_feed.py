"""Generated feeds of any size for benchmarks and tests; equal arguments give equal bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

_KINDS = (
    ("Диван", "угловой"),
    ("Стол", "обеденный"),
    ("Кресло", "садовое"),
    ("Шкаф", "двухдверный"),
    ("Полка", "настенная"),
    ("Lamp", "brass"),
    ("Chair", "folding"),
    ("Картридж", "лазерный"),
)
_VENDORS = ("Nordhem", "Дубрава", "Лоза", "Glasso", "Мастер")
_CATEGORIES = 40
# These elements give an offer twelve warnings, each with a different code and field.
WARNINGS = 12
_FLAWS = {
    ' available="true"': "",
    "<currencyId>RUB</currencyId>\n": "",
    "<categoryId>": "<categoryId>0",
    "</offer>": "<available>perhaps</available>\n<oldprice>12..50</oldprice>\n<count>many</count>\n"
    "<quantity>many</quantity>\n<quantity_in_stock>many</quantity_in_stock>\n<stock_quantity>many</stock_quantity>\n"
    "<lat>91</lat><lon>0</lon>\n<picture>kettle.jpg</picture>\n<picture>https://shop.example/a b.jpg</picture>\n"
    "<param>no name</param>\n</offer>",
}


def offer_ids(count: int, *, prefix: str = "G") -> Iterator[str]:
    """Yield the external ids of a feed of `count` offers, in its order."""
    return (f"{prefix}-{number:07d}" for number in range(count))


def write_feed(
    path: Path,
    count: int,
    *,
    prefix: str = "G",
    revision: int = 0,
    revisions: Sequence[int] = (),
    skip: frozenset[str] = frozenset(),
    flawed: bool = False,
    links: Sequence[Sequence[str]] = (),
) -> Path:
    """Write a YML feed of `count` offers, about 1 KB each, and return its path.

    Args:
        path: the file to write.
        count: the number of offers, before `skip` removes some.
        prefix: the beginning of each external id.
        revision: a number; another one changes the price of every offer.
        revisions: the revision of each offer, repeated from the first; replaces `revision`.
        skip: external ids to leave out.
        flawed: whether every offer has WARNINGS warnings, each with a different code and field.
        links: the pictures of each offer; the default is one to three links that lead nowhere.
    """
    with path.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<yml_catalog date="2026-11-01 10:00">\n<shop>\n')
        file.write("<name>Generated</name><company>Generated</company><url>https://shop.example</url>\n")
        file.write('<currencies><currency id="RUB" rate="1"/></currencies>\n<categories>\n')
        for category in range(1, _CATEGORIES + 1):
            file.write(f'<category id="{category}">Категория {category}</category>\n')
        file.write("</categories>\n<offers>\n")
        for number, external_id in enumerate(offer_ids(count, prefix=prefix)):
            if external_id not in skip:
                own = revisions[number % len(revisions)] if revisions else revision
                offer = _offer(number, external_id, own, links[number] if links else None)
                for sound, flaw in _FLAWS.items() if flawed else ():
                    offer = offer.replace(sound, flaw)
                file.write(offer)
        file.write("</offers>\n</shop>\n</yml_catalog>\n")
    return path


def _offer(number: int, external_id: str, revision: int, links: Sequence[str] | None) -> str:
    noise = hashlib.blake2b(external_id.encode(), digest_size=8).hexdigest()
    kind, adjective = _KINDS[number % len(_KINDS)]
    vendor = _VENDORS[number % len(_VENDORS)]
    price = 100 + number % 9000 + revision
    description = f"{kind} {adjective} серии {noise}. Размер {number % 200 + 40} см, вес {number % 50 + 1} кг. " * 3
    if links is None:
        links = [f"https://shop.example/pictures/{noise}-{view}.jpg" for view in range(number % 3 + 1)]
    pictures = "".join(f"<picture>{link}</picture>\n" for link in links)
    return (
        f'<offer id="{external_id}" available="true">\n'
        f"<url>https://shop.example/offers/{external_id}</url>\n"
        f"<price>{price}</price>\n<currencyId>RUB</currencyId>\n"
        f"<categoryId>{number % _CATEGORIES + 1}</categoryId>\n{pictures}"
        f"<name>{kind} {adjective} {noise}</name>\n<vendor>{vendor}</vendor>\n"
        f"<vendorCode>{noise[:6].upper()}</vendorCode>\n<description>{description}</description>\n"
        f'<param name="Цвет">{("серый", "белый", "синий")[number % 3]}</param>\n'
        f'<param name="Ширина" unit="см">{number % 200 + 40}</param>\n</offer>\n'
    )
