"""Decoding of pictures that nobody has checked: what they are, what is kept of them, and what they look like.

`DecodePool` is what a service uses; what it does and what it refuses is in `pipeline`, and ADR 0061 says why it is so.
"""

from __future__ import annotations

from classifeed_pictures.decoding.faults import DecodeFailed, NotAPicture
from classifeed_pictures.decoding.hashing import distance
from classifeed_pictures.decoding.limits import Limits
from classifeed_pictures.decoding.model import Decoded, SizeSpec, Version
from classifeed_pictures.decoding.pool import DecodePool, PoolFull
from classifeed_pictures.decoding.process import ProcessFailed

__all__ = [
    "DecodeFailed",
    "DecodePool",
    "Decoded",
    "Limits",
    "NotAPicture",
    "PoolFull",
    "ProcessFailed",
    "SizeSpec",
    "Version",
    "distance",
]
