"""`python -m bench.moderation.labelled.make frozen`: write the labelled set that a source file describes.

The result depends on the source file and this code alone.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from bench.moderation.labelled.obfuscations import SOFT, WAYS

FOLDER: Final = Path(__file__).parent
_OBFUSCATED: Final = {"obscene": 3, "insult": 1}
_SHELLED: Final = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled text.

    Attributes:
        lang: ru, en or tr.
        text: the text.
        labels: its categories; () for a clean text.
        how: `plain`, a way of hiding a word, `trap` or `neutral`.
        span: offsets of the labelled word, in code points; None for a clean text.
    """

    lang: str
    text: str
    labels: tuple[str, ...]
    how: str
    span: tuple[int, int] | None


def _placed(rng: random.Random, shells: list[str], piece: str) -> tuple[str, tuple[int, int]]:
    before, _, after = rng.choice(shells).partition("{x}")
    return before + piece + after, (len(before), len(before) + len(piece))


def _words(rng: random.Random, source: dict[str, Any]) -> Iterator[Row]:
    for label, by_lang in source["words"].items():
        for lang, words in by_lang.items():
            for word in words:
                ways = ["plain", *rng.sample(list(WAYS), _OBFUSCATED[label])]
                for way in ways:
                    piece = word if way == "plain" else WAYS[way](rng, word)
                    text, span = _placed(rng, source["carriers"][lang], piece)
                    yield Row(lang, text, (label,), way if piece != word else "plain", span)


def _texts(rng: random.Random, source: dict[str, Any]) -> Iterator[Row]:
    for label, by_lang in source["texts"].items():
        for lang, texts in by_lang.items():
            for original in texts:
                for number in range(_SHELLED):
                    hidden = number == _SHELLED - 1 and label in {"threat", "spam", "ad"}
                    way = rng.choice(SOFT) if hidden else "plain"
                    piece = WAYS[way](rng, original) if hidden else original
                    text, span = _placed(rng, source["shells"][lang], piece)
                    yield Row(lang, text, (label,), way, span)


def _clean(rng: random.Random, source: dict[str, Any]) -> Iterator[Row]:
    for how, times in (("trap", 1), ("neutral", _SHELLED)):
        for lang, texts in source["traps" if how == "trap" else "neutral"].items():
            for original in texts:
                yield Row(lang, original, (), how, None)
                for _ in range(times):
                    yield Row(lang, _placed(rng, source["shells"][lang], original)[0], (), how, None)


def rows(name: str) -> list[Row]:
    """Return the rows of a set, without duplicates."""
    source = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    rng = random.Random(name)
    made = [*_words(rng, source), *_texts(rng, source), *_clean(rng, source)]
    return list({row.text: row for row in made}.values())


def render(made: list[Row]) -> str:
    """Return the rows as the text of a file: one JSON object per line."""
    lines = (
        {"id": number, "lang": row.lang, "labels": row.labels, "how": row.how, "span": row.span, "text": row.text}
        for number, row in enumerate(made, 1)
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def main() -> int:
    for name in sys.argv[1:]:
        (FOLDER / f"{name}.jsonl").write_text(render(rows(name)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
