"""`python -m tools.cleanweb.model`: train the model of cleanweb's automatic rules and write its weights.

The model is a logistic regression over hashed n-grams, trained by stochastic gradient descent. Bad texts are words of
the rules in carrier sentences, clean texts are filled templates. The result depends only on the rules, `texts.yaml` and
this code.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import yaml

from classifeed_cleanweb.automatics.model import BUCKETS, STEP, hashes
from classifeed_cleanweb.automatics.rules_file import parse_rules
from classifeed_cleanweb.automatics.views import read
from classifeed_cleanweb.rules.loading import packaged_rules
from tools.arguments import parse

_SEED: Final = 14
_WEIGHTS: Final = Path("services/cleanweb/src/classifeed_cleanweb/rules/model.npz")
_BAD: Final = 9_000
_CLEAN: Final = 27_000
_EPOCHS: Final = 5
_RATE: Final = 0.3
_DECAY: Final = 1e-3
_PLACE: Final = re.compile(r"\{(\w+)\}")
_SCRIPTS: Final = (("ru", re.compile("[а-я]")), ("tr", re.compile("[çğışöü]")), ("en", re.compile("[a-z]")))

Example = tuple[npt.NDArray[np.uint16], float]


def bad_texts(rng: random.Random, texts: Mapping[str, Any]) -> Iterator[str]:
    """Yield words of the rules in carrier sentences, equally many for each verdict."""
    by_verdict: dict[str, list[str]] = {}
    for content in parse_rules(packaged_rules()):
        for entry in content.get("entries", []):
            by_verdict.setdefault(content["verdict"], []).extend(entry["spellings"])
    verdicts = sorted(by_verdict)
    for number in range(_BAD):
        word = rng.choice(by_verdict[verdicts[number % len(verdicts)]])
        lang = next((lang for lang, letters in _SCRIPTS if letters.search(word)), "en")
        after = rng.choice(("", "", ". " + rng.choice(texts["lists"][lang]["event"])))
        yield rng.choice(texts["bad"][lang]).replace("{x}", word) + after


def clean_texts(rng: random.Random, texts: Mapping[str, Any]) -> Iterator[str]:
    """Yield filled templates."""
    for _ in range(_CLEAN):
        lang = rng.choices(("ru", "en", "tr"), (6, 4, 1))[0]
        lists = texts["lists"][lang]
        pieces = _PLACE.split(rng.choice(texts["clean"][lang]))
        yield "".join(rng.choice(lists[piece]) if number % 2 else piece for number, piece in enumerate(pieces))


def examples(rng: random.Random, made: Sequence[str], label: float) -> Iterator[Example]:
    """Yield buckets and label of each text, cut into pieces of the model's window."""
    for text in made:
        classes = read(text).classes
        if len(classes) > 4:
            buckets = hashes(classes)
            begin = rng.randrange(max(1, len(buckets) - 2 * STEP + 1)) if not label else 0
            yield buckets[begin : begin + 2 * STEP], label


def train(made: list[Example], rng: random.Random) -> tuple[npt.NDArray[np.float32], float]:
    """Return weights and bias."""
    weights, bias = np.zeros(BUCKETS, np.float32), 0.0
    for epoch in range(_EPOCHS):
        rng.shuffle(made)
        rate = _RATE / (1 + epoch)
        for buckets, label in made:
            score = 1 / (1 + np.exp(-np.clip(weights[buckets].sum() + bias, -30, 30)))
            step = np.float32(rate * (label - score))
            np.add.at(weights, buckets, step - np.float32(rate * _DECAY) * weights[buckets])
            bias += 0.05 * float(step)
    return weights, bias


def main() -> int:
    parse(__doc__)
    rng = random.Random(_SEED)
    texts = yaml.safe_load((Path(__file__).parent / "texts.yaml").read_text("utf-8"))
    made = [
        *examples(rng, list(bad_texts(rng, texts)), 1.0),
        *examples(rng, list(clean_texts(rng, texts)), 0.0),
    ]
    weights, bias = train(made, rng)
    np.savez_compressed(_WEIGHTS, weights=weights.astype(np.float16), bias=np.float32(bias))
    print(f"{len(made)} texts, {np.count_nonzero(weights)} weights, bias {bias:.2f}, {_WEIGHTS.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
