"""The containers of picture formats, read by parsers of our own before a library sees a byte.

Each module has a function that reads the whole structure once: it checks sizes and frames against the limits, finds
where a file ends too soon, and returns the file again with what shows the picture and nothing else. What it keeps is
listed; all that is not, such as EXIF, XMP, comments, thumbnails, maker notes and what follows the end, is left out.
Compressed pixels are copied as they are. The result of a second pass is that of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from classifeed_pictures.decoding.containers.avif import read_avif
from classifeed_pictures.decoding.containers.container import Container
from classifeed_pictures.decoding.containers.gif import read_gif
from classifeed_pictures.decoding.containers.jpeg import read_jpeg
from classifeed_pictures.decoding.containers.png import read_png
from classifeed_pictures.decoding.containers.webp import read_webp
from classifeed_pictures.decoding.limits import Limits

__all__ = ["READERS", "Container"]

READERS: Final[Mapping[str, Callable[[bytes, Limits], Container]]] = {
    "jpeg": read_jpeg,
    "png": read_png,
    "webp": read_webp,
    "gif": read_gif,
    "avif": read_avif,
}
