"""Generated files: every element of a format, with critical values, in any order and nesting."""

from __future__ import annotations

import random
from xml.sax.saxutils import escape, quoteattr

from classifeed_feeds.formats.google.tags import KNOWN_TAGS
from classifeed_feeds.formats.native.schema import SCHEMA as NATIVE
from classifeed_feeds.formats.yml.schema import SCHEMA as YML

from .mutations import NAMES, VALUES

_GOOGLE = sorted({tag.rpartition(" ")[2] for tag in KNOWN_TAGS})
_CHILDREN = {
    "yml": sorted(YML.known_tags),
    "native": sorted(NATIVE.known_tags),
    "rss": [f"g:{tag}" for tag in _GOOGLE] + _GOOGLE,
    "atom": [f"g:{tag}" for tag in _GOOGLE] + _GOOGLE,
}
_G = 'xmlns:g="http://base.google.com/ns/1.0"'
_SHELLS = {
    "yml": ("<yml_catalog><shop>{head}<offers>", "offer", "</offers></shop></yml_catalog>"),
    "native": ('<classifeed version="1">{head}<offers>', "offer", "</offers></classifeed>"),
    "rss": (f"<rss {_G}><channel>{{head}}", "item", "</channel></rss>"),
    "atom": (f'<feed xmlns="http://www.w3.org/2005/Atom" {_G}>{{head}}', "entry", "</feed>"),
}
_ATTRIBUTES = [
    "id",
    "available",
    "name",
    "unit",
    "currency",
    "parent",
    "parentId",
    "rate",
    "href",
    "rel",
    "instock",
    "latitude",
]


def generate(rng: random.Random) -> bytes:
    """Return a file of one format, which is well-formed unless a value breaks it."""
    kind = rng.choice(list(_SHELLS))
    before, offer, after = _SHELLS[kind]
    head = "".join(
        _element(rng, ["categories", "category", "currencies", "currency", "title"], 2) for _ in range(rng.randrange(4))
    )
    if rng.random() < 0.5:
        rows = "".join(f"<category id={_value(rng)} parentId={_value(rng)}>{_text(rng)}</category>" for _ in range(3))
        head += f"<currencies><currency id='RUB' rate={_value(rng)}/></currencies><categories>{rows}</categories>"
    offers = [_offer(rng, offer, _CHILDREN[kind]) for _ in range(rng.choice([0, 1, 3, 3, 130]))]
    return (before.format(head=head) + rng.choice(["", "\n", "<x/>"]).join(offers) + after).encode("utf-8", "replace")


def _offer(rng: random.Random, tag: str, children: list[str]) -> str:
    identity = f" id={_value(rng)}" if rng.random() < 0.8 else ""
    identity += f" available={_value(rng)}" if rng.random() < 0.2 else ""
    inside = "".join(_element(rng, children, 0) for _ in range(rng.choice([0, 1, 6, 6, 25])))
    return f"<{tag}{identity}>{inside}</{tag}>" if inside or rng.random() < 0.5 else f"<{tag}{identity}/>"


def _element(rng: random.Random, names: list[str], depth: int) -> str:
    name = rng.choice(names) if rng.random() < 0.95 else rng.choice([each for each in NAMES if ":" not in each])
    attributes = "".join(f" {each}={_value(rng)}" for each in rng.sample(_ATTRIBUTES, rng.choice([0, 0, 0, 1, 3])))
    if rng.random() < 0.1:
        return f"<{name}{attributes}/>"
    inside = _text(rng)
    if depth < 3 and rng.random() < 0.15:
        inside = _element(rng, names, depth + 1) + rng.choice(["", inside])
    return f"<{name}{attributes}>{inside}</{name}>"


def _text(rng: random.Random) -> str:
    value = rng.choice(VALUES)[: rng.choice([40, 400, 80_000])]
    return f"<![CDATA[{value}]]>" if rng.random() < 0.1 else escape(value)


def _value(rng: random.Random) -> str:
    return quoteattr(rng.choice([*VALUES, "1", "2", "a"])[:300])
