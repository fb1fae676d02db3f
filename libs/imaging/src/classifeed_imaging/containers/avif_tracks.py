"""The tracks of an animated AVIF: the number of frames, their bytes, and metadata to blank."""

from __future__ import annotations

import struct
from typing import Final

from classifeed_imaging.containers.boxes import Box, blank, find_box, keep_only, list_boxes
from classifeed_imaging.containers.container import ends_early
from classifeed_imaging.faults import broken, unsupported
from classifeed_imaging.limits import Limits, check_frames, check_size

# The child boxes that a reader needs. All others, such as udta and meta, are removed.
_CHILDREN: Final = {
    b"moov": (b"mvhd", b"trak"),
    b"trak": (b"tkhd", b"edts", b"tref", b"mdia"),
    b"mdia": (b"mdhd", b"hdlr", b"minf"),
    b"minf": (b"vmhd", b"nmhd", b"dinf", b"stbl"),
    b"stbl": (b"stsd", b"stts", b"ctts", b"stsc", b"stsz", b"stco", b"co64", b"stss"),
}
_SAMPLE_PROPERTIES: Final = (b"av1C", b"colr", b"pasp", b"clap", b"ccst", b"auxi", b"clli", b"mdcv")
_PLAIN_DATA_REFERENCE: Final = bytes.fromhex("0000001c64726566 0000000000000001 0000000c75726c20 00000001")


def clean_tracks(data: bytes, out: bytearray, moov: Box, limits: Limits) -> tuple[int, list[tuple[int, int]]]:
    """Return the number of frames and the ranges of their bytes; blank all other data of the tracks.

    Raises:
        DecodeFailed: the tracks are damaged, too large, too many, or not only pictures.
    """
    try:
        return _clean_movie(data, out, moov, limits)
    except struct.error:
        raise broken("The description of the animation is damaged.") from None


def _clean_movie(data: bytes, out: bytearray, moov: Box, limits: Limits) -> tuple[int, list[tuple[int, int]]]:
    frames, kept = 0, []
    children = _clean_children(data, out, moov)
    _blank_times(data, out, find_box(children, b"mvhd"))
    for track in (box for box in children if box.kind == b"trak"):
        parts = _clean_children(data, out, track)
        header = find_box(parts, b"tkhd")
        _blank_times(data, out, header)
        width, height = (value >> 16 for value in struct.unpack_from(">II", data, header.end - 8))
        check_size(width, height, limits)
        media = _clean_children(data, out, find_box(parts, b"mdia"))
        _blank_times(data, out, find_box(media, b"mdhd"))
        handler = find_box(media, b"hdlr")
        if data[handler.body + 8 : handler.body + 12] not in (b"pict", b"auxv"):
            raise unsupported("This AVIF has sound or a video in addition to its pictures.")
        blank(out, handler.body + 24, handler.end)
        information = _clean_children(data, out, find_box(media, b"minf"))
        for box in information:
            if box.kind == b"dinf" and data[box.body : box.end] != _PLAIN_DATA_REFERENCE:
                raise unsupported("This AVIF refers to another file.")
        table = _clean_children(data, out, find_box(information, b"stbl"))
        _clean_description(data, out, find_box(table, b"stsd"), limits)
        ranges = _list_samples(data, table, (width, height), limits)
        frames = max(frames, len(ranges))
        kept += ranges
    return frames, kept


def _clean_children(data: bytes, out: bytearray, box: Box) -> list[Box]:
    boxes = list_boxes(data, box.body, box.end)
    kinds = _CHILDREN[box.kind]
    keep_only(out, boxes, kinds)
    return [child for child in boxes if child.kind in kinds]


def _blank_times(data: bytes, out: bytearray, box: Box) -> None:
    """Blank the times of creation and modification."""
    blank(out, box.body + 4, box.body + 4 + (16 if data[box.body] == 1 else 8))


def _clean_description(data: bytes, out: bytearray, box: Box, limits: Limits) -> None:
    for entry in list_boxes(data, box.body + 8, box.end):
        if entry.kind != b"av01" or entry.end - entry.body < 78:
            raise unsupported("This AVIF has an animation that is not coded with AV1.")
        width, height = struct.unpack_from(">HH", data, entry.body + 24)
        check_size(width, height, limits)
        blank(out, entry.body + 42, entry.body + 74)  # name of the encoder
        keep_only(out, list_boxes(data, entry.body + 78, entry.end), _SAMPLE_PROPERTIES)


def _list_samples(data: bytes, table: list[Box], size: tuple[int, int], limits: Limits) -> list[tuple[int, int]]:
    sizes = find_box(table, b"stsz")
    common, count = struct.unpack_from(">II", data, sizes.body + 4)
    check_frames(count, *size, limits)
    lengths = [common] * count if common else struct.unpack_from(f">{count}I", data, sizes.body + 12)
    offsets = _list_chunks(data, table)
    runs = find_box(table, b"stsc")
    (entries,) = struct.unpack_from(">I", data, runs.body + 4)
    ranges: list[tuple[int, int]] = []
    for index in range(entries):
        first, samples, _ = struct.unpack_from(">III", data, runs.body + 8 + 12 * index)
        following = index + 1 < entries
        (last,) = struct.unpack_from(">I", data, runs.body + 20 + 12 * index) if following else (len(offsets) + 1,)
        for offset in offsets[max(first - 1, 0) : max(last - 1, 0)]:
            for length in lengths[len(ranges) : len(ranges) + samples]:
                if offset + length > len(data):
                    raise ends_early(len(data))
                ranges.append((offset, offset + length))
                offset += length  # noqa: PLW2901 - samples of a chunk follow one another
    if not count or len(ranges) != count:
        raise broken(f"The AVIF declares {count} frames and has {len(ranges)}.")
    return ranges


def _list_chunks(data: bytes, table: list[Box]) -> tuple[int, ...]:
    wide = any(box.kind == b"co64" for box in table)
    chunks = find_box(table, b"co64" if wide else b"stco")
    (count,) = struct.unpack_from(">I", data, chunks.body + 4)
    if count * 4 > chunks.end - chunks.body:
        raise broken("The description of the animation is damaged.")
    found: tuple[int, ...] = struct.unpack_from(f">{count}{'Q' if wide else 'I'}", data, chunks.body + 8)
    return found
