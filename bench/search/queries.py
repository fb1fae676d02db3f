"""Searches of each kind, as each side writes them down."""

from __future__ import annotations

import random
from typing import Final, NamedTuple

from bench.generated_documents import FREQUENT_WORD, OfferWords, offer_words, words

PAGE: Final = 20
_RARE_FROM: Final = 15_000


class Query(NamedTuple):
    """One search; `low` and `high` are bounds of the price where it has some.

    Attributes:
        kind: of which kind it is.
        text: as the searcher takes it.
        engine: as the engine's own parser takes it.
        sqlite: as MATCH of FTS5 takes it.
        postgres: function that makes a tsquery, and its text.
        prefix: the beginning of a word, where the engine's parser has no form for it; empty: none.
        bounds: of the price; None: any.
        sorted: by price, the least first.
    """

    kind: str
    text: str
    engine: str
    sqlite: str
    postgres: tuple[str, str]
    prefix: str = ""
    bounds: tuple[float, float] | None = None
    sorted: bool = False


def queries_of(documents: int, count: int) -> dict[str, list[Query]]:
    """Return `count` searches of each kind, for documents that are there."""
    rng = random.Random(3)
    found: dict[str, list[Query]] = {}
    rare = words().texts[_RARE_FROM:]
    for _ in range(count):
        for query in _queries_for(offer_words(rng.randrange(documents)), rng.choice(rare)):
            found.setdefault(query.kind, []).append(query)
    return found


def _queries_for(offer: OfferWords, rare: str) -> list[Query]:
    kind, adjective, code = offer.kind, offer.adjective, offer.code
    both = f"{kind} {adjective}"
    letters, number, last = code.replace("-", " ").split()
    bounds = (float(offer.price // 2), float(offer.price * 2))
    price = f"price:[{bounds[0]} TO {bounds[1]}]"
    return [
        _words("one word", kind),
        _words("two words", both),
        Query("phrase", f'"{both}"', f'"{both}"', f'"{both}"', ("phraseto_tsquery", both)),
        Query("prefix", f"{kind[:5]}*", "", f"{kind[:5]}*", ("to_tsquery", f"{kind[:5]}:*"), prefix=kind[:5]),
        _words("price filter", kind)._replace(engine=f"{kind} {price}", bounds=bounds),
        Query(
            "code",
            f"{letters}{number}{last}",
            f"{letters}{number} {number}{last}",
            f'"{letters} {number} {last}"',
            ("phraseto_tsquery", code),
        ),
        _words("frequent word", FREQUENT_WORD),
        _words("rare word", rare),
        _words("by price", kind)._replace(sorted=True),
    ]


def _words(kind: str, text: str) -> Query:
    return Query(kind, text, text, text, ("plainto_tsquery", text))
