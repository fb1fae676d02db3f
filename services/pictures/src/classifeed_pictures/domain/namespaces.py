"""Namespaces: the versions of a picture that they keep, and their quotas."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from classifeed_common.blobs import BlobPiece


@dataclass(frozen=True, slots=True)
class SizeRule:
    """The rule of a smaller version.

    Attributes:
        name: part of its address.
        width: maximum width in pixels.
        height: maximum height in pixels.
        crop: whether the picture fills the box and is cropped; otherwise the whole picture fits into it.
    """

    name: str
    width: int
    height: int
    crop: bool


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace.

    Attributes:
        name: part of the addresses of its pictures.
        sizes: versions that are made of each picture.
        formats: formats of each version; the first one is for clients without a preference.
        quota_bytes: maximum size of its pictures; 0: no limit.
    """

    name: str
    sizes: tuple[SizeRule, ...]
    formats: tuple[str, ...]
    quota_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A smaller version of a stored picture, and the place of its bytes.

    Attributes:
        rule: rule of the version.
        format: jpeg, webp or avif.
        width: width in pixels.
        height: height in pixels.
        blob: hash of the file with its bytes, in hexadecimal; the file may contain other versions.
        offset: offset of its first byte in the file.
        size_bytes: number of bytes.
        sha256: hash of its bytes, in hexadecimal.
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
        """Return the place of its bytes in the file, for `BlobStore.get_piece`."""
        return BlobPiece(self.offset, self.size_bytes, self.sha256)


def missing_versions(namespace: Namespace, pieces: Collection[Piece]) -> list[tuple[SizeRule, str]]:
    """Return the versions of a namespace that are missing, by rule and format; names of sizes do not matter."""
    made = {(_shape(piece.rule), piece.format) for piece in pieces}
    return [
        (rule, format_)
        for rule in namespace.sizes
        for format_ in namespace.formats
        if (_shape(rule), format_) not in made
    ]


def pieces_for(namespace: Namespace, pieces: Collection[Piece]) -> list[Piece]:
    """Return the pieces that a namespace needs, with its names of sizes."""
    made = {(_shape(piece.rule), piece.format): piece for piece in pieces}
    return [
        Piece(rule, piece.format, piece.width, piece.height, piece.blob, piece.offset, piece.size_bytes, piece.sha256)
        for rule in namespace.sizes
        for format_ in namespace.formats
        if (piece := made.get((_shape(rule), format_))) is not None
    ]


def _shape(rule: SizeRule) -> tuple[int, int, bool]:
    return rule.width, rule.height, rule.crop
