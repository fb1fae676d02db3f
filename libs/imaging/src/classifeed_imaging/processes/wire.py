"""Frames between the pool and its processes: lengths, a head in JSON, and bytes.

Pickle is not used: a compromised process can send any bytes, and must not be trusted.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from classifeed_imaging.faults import CODES, DecodeFailed, make_fault
from classifeed_imaging.model import Decoded, SizeSpec, Version

# A head of 16 sizes has 2 KB.
HEAD_BYTES: Final = 1024 * 1024
LENGTHS: Final = struct.Struct(">II")
OUT_OF_MEMORY: Final = 77
"""Exit code of a process that has not even the memory for a response."""


class BadFrame(Exception):
    """The received bytes are no valid frame."""


def pack(head: Mapping[str, Any], *blobs: bytes) -> list[bytes]:
    """Return the pieces of a frame, to be written in order."""
    text = json.dumps({**head, "blobs": [len(blob) for blob in blobs]}).encode()
    return [LENGTHS.pack(len(text), sum(map(len, blobs))), text, *blobs]


def unpack(head: bytes, body: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return the head and the blobs of a frame.

    Raises:
        BadFrame: the lengths do not match the bytes.
    """
    try:
        fields = json.loads(head)
        lengths = [int(length) for length in fields["blobs"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadFrame from None
    if sum(lengths) != len(body) or min(lengths, default=0) < 0:
        raise BadFrame
    blobs, position = [], 0
    for length in lengths:
        blobs.append(body[position : position + length])
        position += length
    return fields, blobs


def pack_request(data: bytes, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> list[bytes]:
    """Return the frame that requests a picture."""
    return pack({"sizes": [asdict(size) for size in sizes], "formats": list(formats)}, data)


def unpack_request(fields: Mapping[str, Any], blobs: Sequence[bytes]) -> tuple[bytes, list[SizeSpec], list[str]]:
    """Return the arguments of `pack_request`."""
    return blobs[0], [SizeSpec(**size) for size in fields["sizes"]], fields["formats"]


def pack_result(result: Decoded | DecodeFailed, data: bytes) -> list[bytes]:
    """Return the frame of the response; an unchanged original is not sent back."""
    if isinstance(result, DecodeFailed):
        return pack({"code": result.code, "message": result.message})
    is_same = result.original == data
    head = {
        "format": result.format,
        "width": result.width,
        "height": result.height,
        "frames": result.frames,
        "versions": [[each.size, each.format, each.width, each.height] for each in result.versions],
        "perceptual_hash": result.perceptual_hash.hex(),
        "dominant_color": result.dominant_color,
        "blurhash": result.blurhash,
        "is_same": is_same,
    }
    return pack(head, b"" if is_same else result.original, *(version.data for version in result.versions))


def unpack_result(fields: Mapping[str, Any], blobs: Sequence[bytes], data: bytes) -> Decoded:
    """Return the picture.

    Raises:
        DecodeFailed: the fault that the process raised.
        BadFrame: the response is invalid.
    """
    try:
        if "code" in fields:
            if fields["code"] not in CODES:
                raise BadFrame
            raise make_fault(fields["code"], str(fields["message"]))
        return Decoded(
            format=str(fields["format"]),
            width=int(fields["width"]),
            height=int(fields["height"]),
            frames=int(fields["frames"]),
            original=data if fields["is_same"] else blobs[0],
            versions=tuple(
                Version(str(size), str(name), int(width), int(height), blob)
                for (size, name, width, height), blob in zip(fields["versions"], blobs[1:], strict=True)
            ),
            perceptual_hash=bytes.fromhex(fields["perceptual_hash"]),
            dominant_color=int(fields["dominant_color"]),
            blurhash=str(fields["blurhash"]),
        )
    except (ValueError, KeyError, TypeError, IndexError):
        raise BadFrame from None
