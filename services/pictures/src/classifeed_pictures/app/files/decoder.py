"""What decodes pictures for the use cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from classifeed_pictures.decoding.model import Decoded, SizeSpec
from classifeed_pictures.domain.namespaces import Namespace


class Decoder(Protocol):
    """Decodes pictures that nobody vouches for."""

    async def decode(self, data: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        """Return a picture with its versions in these sizes and formats.

        Raises:
            DecodeFailed: it is no picture, or none that is taken.
            PoolFull: too many wait; try again.
        """
        ...


def size_specs(namespace: Namespace) -> Sequence[SizeSpec]:
    """Return the sizes of a namespace as the decoder takes them."""
    return [SizeSpec(rule.name, rule.width, rule.height, rule.crop) for rule in namespace.sizes]
