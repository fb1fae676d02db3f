"""Texts that one core judges a second."""

from __future__ import annotations

import random
import time
from typing import Final

from bench.moderation.quality import labelled
from classifeed_cleanweb.automatics import Automatics

LENGTH: Final = 500
_TEXTS: Final = 2_000
_ROUNDS: Final = 7
_SEED: Final = 500
# Most texts are plain: about 1 piece in 10 is a trap, and 1 text in 10 has a labelled piece.
_TRAPS: Final = 0.1
_BAD: Final = 0.1


def texts() -> list[str]:
    """Return texts of 500 characters, made of pieces of the frozen set."""
    rng = random.Random(_SEED)
    rows = list(labelled("frozen"))
    plain, traps, bad = (
        [row["text"] for row in rows if row["how"] == how] if how else [row["text"] for row in rows if row["labels"]]
        for how in ("neutral", "trap", "")
    )
    made = []
    for _ in range(_TEXTS):
        text = rng.choice(bad) if rng.random() < _BAD else ""
        while len(text) < LENGTH:
            text += f" {rng.choice(traps if rng.random() < _TRAPS else plain)}."
        made.append(text[:LENGTH])
    return made


def rate(automatics: Automatics, made: list[str]) -> list[float]:
    """Return texts per second of CPU, one value for each round."""
    rates = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        for text in made:
            automatics.judge(text, (225,), "offer")
        rates.append(len(made) / (time.process_time() - began))
    return rates
