"""The interface through which use cases decode pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from classifeed_imaging.model import Decoded, SizeSpec


class Decoder(Protocol):
    """Decodes untrusted pictures."""

    async def decode(self, data: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        """Return a picture with its versions in these sizes and formats.

        Raises:
            DecodeFailed: it is no picture, or of a kind that is not accepted.
            PoolFull: too many pictures wait; retry later.
        """
        ...
