"""Generated documents of offers for benchmarks of the index and the search; equal numbers give equal documents."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate, islice
from typing import Final, NamedTuple, TypeVar

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.offers.v1.offer_pb2 import Attribute, OfferContent
from classifeed_offers.domain.documents import DueOffer, compose
from classifeed_offers.domain.offers import Status

T = TypeVar("T")

FREQUENT_WORD: Final = "доставка"
"""A word in the description of every second document."""

_EPOCH_BEGINS: Final = datetime(2026, 1, 1, tzinfo=UTC)
_MICROS: Final = 1_000_000
_CONSONANTS, _VOWELS = "бвгдзклмнпрстф", "аеиоу"
_LETTERS: Final = "DFGJLNRSUVWZ"
_DESCRIPTION_WORDS: Final = 60
_SELLERS: Final = 50


class Words(NamedTuple):
    """The words of all documents; the first words of `texts` are much more frequent than the last."""

    kinds: list[str]
    adjectives: list[str]
    vendors: list[str]
    texts: list[str]
    weights: list[float]


class OfferWords(NamedTuple):
    """The words of a document's title, and its price."""

    kind: str
    adjective: str
    vendor: str
    code: str
    price: int

    @property
    def title(self) -> str:
        """The title, as a seller writes it."""
        return f"{self.kind.capitalize()} {self.adjective} {self.vendor} {self.code}"


@cache
def words() -> Words:
    """Return the vocabulary."""
    rng = random.Random(1)

    def word(syllables: int) -> str:
        return "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(syllables)) + rng.choice("квлнрт")

    texts = list(dict.fromkeys(word(rng.randint(2, 4)) for _ in range(20_000)))
    return Words(
        kinds=list(dict.fromkeys(word(2) + "он" for _ in range(200))),
        adjectives=list(dict.fromkeys(word(2) + "ный" for _ in range(100))),
        vendors=list(dict.fromkeys(word(2).capitalize() for _ in range(50))),
        texts=texts,
        weights=list(accumulate(1 / (rank + 10) for rank in range(len(texts)))),
    )


def offer_words(number: int) -> OfferWords:
    """Return the words of the title of a document, and its price."""
    rng = random.Random(number)
    known = words()
    code = f"{rng.choice(_LETTERS)}{rng.choice(_LETTERS)}-{rng.randint(100, 999)} {rng.choice(_LETTERS)}"
    return OfferWords(
        rng.choice(known.kinds), rng.choice(known.adjectives), rng.choice(known.vendors), code, rng.randint(100, 99_999)
    )


def generate_documents(count: int, *, first: int = 0, version: int = 1) -> Iterator[RawDocument]:
    """Yield documents of about 1.4 KB, as the offers service composes them, from number `first` on."""
    known = words()
    for number in range(first, first + count):
        offer = offer_words(number)
        rng = random.Random(-number - 1)
        text = rng.choices(known.texts, cum_weights=known.weights, k=_DESCRIPTION_WORDS)
        if number % 2:
            text.insert(7, FREQUENT_WORD)
        content = OfferContent(
            title=offer.title,
            description=f"{' '.join(text).capitalize()}.",
            category_path=["Товары", offer.kind],
            category_id=str(number % 40),
            vendor=offer.vendor,
            vendor_code=offer.code,
            url=f"https://shop.example/offers/{number}",
            picture_urls=[f"https://shop.example/pictures/{number}-{view}.jpg" for view in range(number % 3 + 1)],
            attributes=[Attribute(name="Ширина", value=str(number % 200 + 40), unit="см")],
            available=True,
        )
        content.price.amount_micros = offer.price * _MICROS
        content.price.currency_code = "RUB"
        yield compose(_due(number, version, content))


def _due(number: int, version: int, content: OfferContent) -> DueOffer:
    return DueOffer(
        offer_id=number + 1,
        version=version,
        seller_id=f"seller{number % _SELLERS}",
        namespace="default",
        external_id=str(number),
        status=Status.ACTIVE,
        content=content.SerializeToString(),
        published_content=None,
        updated_at=_EPOCH_BEGINS,
        composed_at=_EPOCH_BEGINS,
    )


def pieces(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`; the last list may be shorter."""
    left = iter(items)
    while piece := list(islice(left, size)):
        yield piece
