"""All stages of decoding a picture, which is decoded once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from PIL import Image

from classifeed_imaging.containers import READERS
from classifeed_imaging.limits import Limits
from classifeed_imaging.model import Decoded, SizeSpec, Version
from classifeed_imaging.pixels.blurhash import encode_blurhash
from classifeed_imaging.pixels.colours import on_white
from classifeed_imaging.pixels.encoding import encode
from classifeed_imaging.pixels.hashing import dominant_color, perceptual_hash
from classifeed_imaging.pixels.rendering import is_sideways, load_base, open_image, render
from classifeed_imaging.sniffing import identify

# Side of the sample for hashes, in pixels.
_SAMPLE_SIDE = 64


class Stopwatch:
    """CPU seconds of this process by stage: parse, decode, resize, encode, hash."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the CPU time of the body to a stage."""
        start = time.process_time()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start


def decode_picture(
    data: bytes, sizes: Sequence[SizeSpec], formats: Sequence[str], limits: Limits, watch: Stopwatch | None = None
) -> Decoded:
    """Return the picture without metadata, its smaller versions and its hashes.

    Run it in a process that can be killed (`worker`): a hostile file may crash the library.

    Raises:
        DecodeFailed: it is no picture, is damaged, or exceeds the limits.
    """
    watch = watch or Stopwatch()
    with watch.stage("parse"):
        format_name = identify(data)
        container = READERS[format_name](data, limits)
    with watch.stage("decode"):
        # The library gets the clean file only, so that the removed parts cannot harm it.
        image, orientation = open_image(container.clean, format_name, limits)
        width, height = image.size
        base = load_base(image, orientation, sizes)
        del image
    if is_sideways(orientation):
        width, height = height, width
    with watch.stage("resize"):
        rendered = list(render(base, (width, height), sizes))
    versions: dict[str, list[Version]] = {}
    for size, picture in rendered:
        for name in formats:
            with watch.stage(f"encode {name}"):
                version = Version(size.name, name, picture.width, picture.height, encode(picture, name))
                versions.setdefault(size.name, []).append(version)
    with watch.stage("hash"):
        sample = base.resize((_SAMPLE_SIDE, _SAMPLE_SIDE), Image.Resampling.BOX, reducing_gap=1.0)
        flat = on_white(sample)
        hashed = perceptual_hash(flat)
        color = dominant_color(sample)
        blurhash = encode_blurhash(flat, is_wide=width >= height)
    return Decoded(
        format=format_name,
        width=width,
        height=height,
        frames=container.frames,
        original=container.clean,
        versions=tuple(version for size in sizes for version in versions[size.name]),
        perceptual_hash=hashed,
        dominant_color=color,
        blurhash=blurhash,
    )
