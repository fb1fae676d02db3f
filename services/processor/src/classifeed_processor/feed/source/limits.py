"""What a feed may cost at most, before it is refused."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one file. Each is far above what real feeds need and far below what would hurt the process.

    Attributes:
        content_bytes: Size after unpacking.
        ratio: Unpacked to packed size that is refused, past `ratio_free_bytes`.
        ratio_free_bytes: Unpacked bytes for which the ratio is not looked at.
        depth: Nesting of elements.
        token_bytes: One comment or other piece that must be held as a whole.
        tag_bytes: One tag with its attributes, of which each costs more than its bytes.
        doctype_bytes: The document type with its declarations.
        entity_bytes: The text of one entity that the file declares.
        offer_bytes: One offer past which the offer alone is rejected (OFFER_TOO_LARGE).
        offer_elements: Elements straight under an offer past which it is rejected too: libxml2's messages about one of
            them cost as much as there are.
        element_bytes: One offer past which the file is refused.
        element_count: Elements inside one offer past which the file is refused: each costs the second pass thirty times
            the bytes of the shortest tag.
        head_bytes: Everything of the file that is not inside an offer.
        head_elements: Elements between two offers, or before the first one.
        text_chars: One text that is taken as a whole: an id, or a name in the head of the file.
        names: Different names of tags and attributes.
        name_chars: All of these together.
        namespace_chars: One namespace: it is a part of each name that has it.
        offers: Offers; eight bytes of memory each, and more for each id that stands twice.
        archive_entries: Files and folders that the directory of an archive lists.
        archive_directory_bytes: Size of that directory.
        gzip_header_bytes: Name and comment of a gzip member together.
        gzip_members: Members that a gzip file may have whatever they hold; real files have one, seldom hundreds.
        gzip_member_bytes: What each member beyond those must unpack to on average.
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
