"""Limits on the resources that a feed may take."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on one file. Each is far above the needs of real feeds, and far below what would harm the process.

    Attributes:
        content_bytes: Size after unpacking, in bytes.
        ratio: Ratio of unpacked to packed size, beyond `ratio_free_bytes`.
        ratio_free_bytes: Unpacked size up to which the ratio is not checked, in bytes.
        depth: Nesting of elements.
        token_bytes: Size of a comment or another piece that must be held in memory, in bytes.
        tag_bytes: Size of a tag with its attributes, each of which takes more memory than its bytes.
        doctype_bytes: Size of the document type with its declarations, in bytes.
        entity_bytes: Size of a declared entity's text, in bytes.
        offer_bytes: Size of an offer, in bytes; a larger offer is rejected (OFFER_TOO_LARGE).
        offer_elements: Number of an offer's child elements; an offer with more is rejected, because the cost of each
            message of libxml2 grows with their number.
        element_bytes: Size of an offer, in bytes; with a larger one the file is refused.
        element_count: Number of elements inside an offer; with more the file is refused, because each takes the second
            pass thirty times the bytes of the shortest tag.
        head_bytes: Size of the content outside of offers, in bytes.
        head_elements: Number of elements between two offers, or before the first one.
        text_chars: Length of a text that is held in memory: an id, or a name in the head of the file.
        names: Number of different names of tags and attributes.
        name_chars: Total length of these names, in characters.
        namespace_chars: Length of a namespace, which is part of each name in it, in characters.
        offers: Number of offers; each takes eight bytes of memory, and each repeated id takes more.
        archive_entries: Number of files and folders in the directory of an archive.
        archive_directory_bytes: Size of this directory, in bytes.
        gzip_header_bytes: Total size of name and comment of a gzip member, in bytes.
        gzip_members: Number of members that a gzip file may have without a check; real files have one, seldom hundreds.
        gzip_member_bytes: Average unpacked size that further members must have, in bytes.
    """

    content_bytes: int = 20 << 30
    ratio: int = 200
    ratio_free_bytes: int = 64 * MIB
    depth: int = 64
    token_bytes: int = 4 * MIB
    tag_bytes: int = 256 << 10
    doctype_bytes: int = 64 << 10
    entity_bytes: int = 128
    offer_bytes: int = 256 << 10
    offer_elements: int = 2_000
    element_bytes: int = 8 * MIB
    element_count: int = 50_000
    head_bytes: int = 16 * MIB
    head_elements: int = 100_000
    text_chars: int = 64 << 10
    names: int = 5_000
    name_chars: int = MIB
    namespace_chars: int = 256
    offers: int = 10_000_000
    archive_entries: int = 1_000
    archive_directory_bytes: int = MIB
    gzip_header_bytes: int = 128 << 10
    gzip_members: int = 1_000
    gzip_member_bytes: int = 1 << 10


DEFAULT_LIMITS = Limits()
