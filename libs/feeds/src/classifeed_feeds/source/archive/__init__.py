"""Read gzip and zip files in bounded memory and time, without trust in their headers.

The standard library's readers trust the file: `zipfile` reads the whole directory before it can report its size,
`gzip` reads names of any length byte by byte, and both unpack methods whose tables take gigabytes.
"""

from __future__ import annotations

from classifeed_feeds.source.archive.gzip_stream import GzipStream
from classifeed_feeds.source.archive.zip_directory import ZipMember, find_only_member
from classifeed_feeds.source.archive.zip_stream import ZipStream

__all__ = ["GzipStream", "ZipMember", "ZipStream", "find_only_member"]
