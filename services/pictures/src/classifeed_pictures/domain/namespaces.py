"""Namespaces: which versions of a picture they keep, and how much of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from classifeed_common.blobs import BlobPiece


@dataclass(frozen=True, slots=True)
class SizeRule:
    """How a smaller version is made.

    Attributes:
        name: Part of its address.
        width: Greatest width in pixels.
        height: Greatest height in pixels.
        crop: Whether the box is filled, and what stands out cut off; otherwise the whole picture fits into it.
    """

    name: str
    width: int
    height: int
    crop: bool


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace.

    Attributes:
        name: Part of the addresses of its pictures.
        sizes: Versions that are made of each picture.
        formats: In which each version is made; the first one is for clients without a preference.
        quota_bytes: What its pictures may take; 0: no limit.
    """

    name: str
    sizes: tuple[SizeRule, ...]
    formats: tuple[str, ...]
    quota_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A smaller version of a stored picture, and where its bytes are.

    Attributes:
        rule: By which it was made.
        format: jpeg, webp or avif.
        width: In pixels.
        height: In pixels.
        blob: Hash of the file that it lies in, in hex; it may hold others.
        offset: Its first byte there.
        size_bytes: How many there are.
        sha256: Their hash, in hex.
    """

    rule: SizeRule
    format: str
    width: int
    height: int
    blob: str
    offset: int
    size_bytes: int
    sha256: str

    @property
    def at(self) -> BlobPiece:
        """Return where its bytes are in the file, for `BlobStore.get_piece`."""
        return BlobPiece(self.offset, self.size_bytes, self.sha256)


def missing_versions(namespace: Namespace, pieces: Collection[Piece]) -> list[tuple[SizeRule, str]]:
    """Return the versions of a namespace that are not among these, by rule and format; names of sizes do not matter."""
    made = {(_shape(piece.rule), piece.format) for piece in pieces}
    return [
        (rule, format_)
        for rule in namespace.sizes
        for format_ in namespace.formats
        if (_shape(rule), format_) not in made
    ]


def pieces_for(namespace: Namespace, pieces: Collection[Piece]) -> list[Piece]:
    """Return the pieces that a namespace needs, under its own names of sizes."""
    made = {(_shape(piece.rule), piece.format): piece for piece in pieces}
    return [
        Piece(rule, piece.format, piece.width, piece.height, piece.blob, piece.offset, piece.size_bytes, piece.sha256)
        for rule in namespace.sizes
        for format_ in namespace.formats
        if (piece := made.get((_shape(rule), format_))) is not None
    ]


def _shape(rule: SizeRule) -> tuple[int, int, bool]:
    return rule.width, rule.height, rule.crop
