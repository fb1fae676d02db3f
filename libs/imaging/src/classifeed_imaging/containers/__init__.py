"""The containers of picture formats, read by our own parsers before a library sees a byte.

Each module has a function that reads the whole structure once: it checks sizes and frames against the limits, detects
files that are cut off, and returns the file with the picture data only. Listed parts are kept. All others, such as
EXIF, XMP, comments, thumbnails, maker notes and bytes after the end, are left out. Compressed pixels are copied
unchanged. A second pass returns the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from classifeed_imaging.containers.avif import read_avif
from classifeed_imaging.containers.container import Container
from classifeed_imaging.containers.gif import read_gif
from classifeed_imaging.containers.jpeg import read_jpeg
from classifeed_imaging.containers.png import read_png
from classifeed_imaging.containers.webp import read_webp
from classifeed_imaging.limits import Limits

__all__ = ["READERS", "Container"]

READERS: Final[Mapping[str, Callable[[bytes, Limits], Container]]] = {
    "jpeg": read_jpeg,
    "png": read_png,
    "webp": read_webp,
    "gif": read_gif,
    "avif": read_avif,
}
