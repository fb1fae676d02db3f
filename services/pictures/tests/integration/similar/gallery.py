"""Stored pictures: drawings and samples of price lists, with copies like those of partners' shops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

import numpy as np
from libs.imaging.tests.samples.drawings import FLAT_KINDS, KINDS, saved, transformed
from PIL import Image

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.db import Database
from classifeed_imaging.limits import Limits
from classifeed_imaging.pipeline import decode_picture
from classifeed_pictures.app.states.find_similar import list_alike
from classifeed_pictures.domain.similarity import similarity_key
from classifeed_pictures.store.files.stored import StoredPicture, put_stored
from classifeed_pictures.store.states.similar import Likeness

SAMPLES: Final = Path(__file__).parents[5] / "cli/src/classifeed_cli/samples/pictures"
_FORMATS: Final = (("JPEG", {"quality": 85}), ("PNG", {"compress_level": 1}), ("WEBP", {"quality": 75}))


@dataclass(frozen=True, slots=True)
class Hung:
    """A picture, and its motif.

    Attributes:
        number: number of the picture, from 1.
        motif: number of the motif, the same for all copies.
        kind: kind of the motif.
        way: transformation of the copy; empty for the first picture.
        hashed: perceptual hash.
        blurhash: BlurHash; empty: unknown.
    """

    number: int
    motif: int
    kind: str
    way: str
    hashed: bytes
    blurhash: str = ""

    @property
    def url_hash(self) -> bytes:
        return self.number.to_bytes(16, "big")

    @property
    def name(self) -> str:
        return f"{self.number:032x}"

    @property
    def info(self) -> PictureInfo:
        return PictureInfo(
            namespace="offers",
            group_id=self.number % 100,
            name=self.name,
            perceptual_hash=self.hashed,
            blurhash=self.blurhash,
        )

    @property
    def likeness(self) -> Likeness:
        return Likeness(similarity_key(self.hashed), self.url_hash, 10)


def make_gallery(rounds: int, seed: int) -> list[Hung]:
    """Draw pictures of all kinds, read the samples, and copy each in six ways; each is decoded from a file."""
    random = np.random.default_rng(seed)
    formats = cycle(_FORMATS)
    hung: list[Hung] = []

    def hang(motif: int, kind: str, way: str, image: Image.Image) -> None:
        name, options = next(formats)
        decoded = decode_picture(saved(image, name, **options), (), (), Limits())
        hung.append(Hung(len(hung) + 1, motif, kind, way, decoded.perceptual_hash, decoded.blurhash))

    for motif, (kind, image) in enumerate(_originals(rounds, random), 1):
        hang(motif, kind, "", image)
        for way, copy in transformed(image, random):
            hang(motif, kind, way, copy)
    return hung


def _originals(rounds: int, random: np.random.Generator) -> Iterator[tuple[str, Image.Image]]:
    for path in sorted(SAMPLES.glob("*.jpg")):
        yield "sample", Image.open(path).convert("RGB").resize((320, 240))
    for _ in range(rounds):
        for draw in (*KINDS, *FLAT_KINDS):
            yield draw.__name__, draw(random, 320, 240)


def stored(picture: Hung) -> StoredPicture:
    """Return the row of a picture."""
    return StoredPicture(picture.info, picture.url_hash, 1, "00" * 32, ())


async def hang_all(database: Database, gallery: list[Hung]) -> None:
    """Store pictures."""
    async with database.transaction() as tx:
        for picture in gallery:
            await put_stored(tx, stored(picture))


async def found_by_each(database: Database, gallery: list[Hung]) -> AsyncIterator[tuple[Hung, set[str]]]:
    """Yield each picture with the names of the similar ones that are found."""
    async with database.transaction() as tx:
        for picture in gallery:
            found = await list_alike(tx, picture.info, picture.likeness, limit=1000)
            yield picture, {row.info.name for row in found.rows}
