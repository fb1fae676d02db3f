"""A small model of character n-grams: scores how much a text resembles bad texts, without lists.

Features are the classes of letters that the search uses, four in a row, hashed into a table of weights. The score of a
text is that of its worst stretch. `python -m tools.cleanweb.model` trains the weights.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

BUCKETS: Final = 1 << 16
"""Number of hash values, which wrap at 16 bits."""
STEP: Final = 12
"""Half the length of a stretch; a stretch begins at each step."""
_FACTOR: Final = np.uint16(0x9E37)
_FACTOR_OF_PAIRS: Final = np.uint16(0x85EB)
_SHORTEST: Final = 4


def hashes(classes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    """Return the bucket of each four classes in a row."""
    wide = classes.astype(np.uint16)
    pairs = wide[:-1] * _FACTOR + wide[1:]
    return pairs[:-2] * _FACTOR_OF_PAIRS + pairs[2:]


@dataclass(frozen=True, slots=True)
class Model:
    """Weights by bucket, and the bias."""

    weights: npt.NDArray[np.float32]
    bias: float

    @classmethod
    def parse(cls, content: bytes) -> Model:
        """Return the model of an .npz file; pickles are not read.

        Raises:
            ValueError: the content is not a model.
        """
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            weights = np.asarray(arrays["weights"], np.float32)
            if weights.shape != (BUCKETS,):
                raise ValueError(f"the model has weights of shape {weights.shape}, not {(BUCKETS,)}: train it again")
            return cls(weights, float(arrays["bias"]))

    def score(self, classes: npt.NDArray[np.uint8]) -> float:
        """Return the score in [0, 1] of the classes of a text's visible characters."""
        if len(classes) < _SHORTEST:
            return 0.0
        weighed = self.weights.take(hashes(classes))
        sums = np.add.reduceat(weighed, _steps(len(weighed)))
        worst = sums.item() if len(sums) == 1 else float((sums[1:] + sums[:-1]).max())
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, worst + self.bias))))


@lru_cache(1024)
def _steps(length: int) -> npt.NDArray[np.intp]:
    return np.arange(0, length, STEP)


@cache
def packaged_model() -> Model:
    """Return the model in the wheel."""
    return Model.parse((files("classifeed_cleanweb") / "rules" / "model.npz").read_bytes())
