"""Reading packed files, gzip and zip, in bounded memory and time whatever their headers claim.

The standard library's readers trust the file: `zipfile` reads the whole directory before it can report its size,
`gzip` reads names of any length a byte at a time, and both unpack methods whose tables take gigabytes.
"""

from __future__ import annotations

from classifeed_processor.feed.source.archive.gzip_stream import GzipStream
from classifeed_processor.feed.source.archive.zip_directory import ZipMember, find_only_member
from classifeed_processor.feed.source.archive.zip_stream import ZipStream

__all__ = ["GzipStream", "ZipMember", "ZipStream", "find_only_member"]
