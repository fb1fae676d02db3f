"""Converts the sizes of a namespace for the decoder."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed_imaging.model import SizeSpec
from classifeed_pictures.domain.namespaces import Namespace


def specify_sizes(namespace: Namespace) -> Sequence[SizeSpec]:
    """Return the sizes of a namespace as the decoder needs them."""
    return [SizeSpec(rule.name, rule.width, rule.height, rule.crop) for rule in namespace.sizes]
