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
        token_bytes: One tag, comment or other piece that must be held as a whole.
        offer_bytes: One offer past which the offer alone is rejected (OFFER_TOO_LARGE).
        offer_elements: Elements straight under an offer past which it is rejected too: libxml2's messages about one of
            them cost as much as there are.
        element_bytes: One offer, or one stretch outside of offers, past which the file is refused.
        head_bytes: Everything of the file that is not inside an offer.
        names: Different names of tags and attributes.
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
    offer_bytes: int = 256 << 10
    offer_elements: int = 2_000
    element_bytes: int = 8 * MIB
    head_bytes: int = 16 * MIB
    names: int = 5_000
    archive_entries: int = 1_000
    archive_directory_bytes: int = MIB
    gzip_header_bytes: int = 128 << 10
    gzip_members: int = 1_000
    gzip_member_bytes: int = 1 << 10


DEFAULT_LIMITS = Limits()
