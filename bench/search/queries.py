"""Searches of each kind, in the syntax of each side."""

from __future__ import annotations

import random
from typing import Final, NamedTuple

from bench.kit.generated_documents import FREQUENT_WORD, OfferWords, offer_words, words

PAGE: Final = 20
_RARE_FROM: Final = 15_000


class Query(NamedTuple):
    """One search.

    Attributes:
        kind: kind of search.
        text: query for the searcher.
        engine: query for the engine's own parser.
        sqlite: query for MATCH of FTS5.
        postgres: function that makes a tsquery, and its text.
        prefix: beginning of a word, for which the engine's parser has no syntax; empty for other searches.
        bounds: lowest and highest price; None for any price.
        sorted: whether hits are sorted by price, the lowest first.
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
    """Return `count` searches of each kind that match generated documents."""
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
