"""What decodes pictures for the use cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from classifeed_pictures.decoding.model import Decoded, SizeSpec


class Decoder(Protocol):
    """Decodes pictures that nobody vouches for."""

    async def decode(self, data: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        """Return a picture with its versions in these sizes and formats.

        Raises:
            DecodeFailed: it is no picture, or none that is taken.
            PoolFull: too many wait; try again.
        """
        ...
