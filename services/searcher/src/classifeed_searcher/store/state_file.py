"""How far the index has come, in a file beside it: Kafka positions and watermarks, written after each commit."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from classifeed_common.kafka import Position
from classifeed_searcher.domain.watermarks import Watermarks

_FORMAT = 1


@dataclass(slots=True)
class IndexState:
    """Positions by (topic, partition), and the watermarks of the shards."""

    positions: dict[tuple[str, int], Position] = field(default_factory=dict)
    watermarks: Watermarks = field(default_factory=Watermarks)


def read_state(path: Path) -> IndexState:
    """Returns the stored state; an empty one where there is no file.

    Raises:
        ValueError: the file is not one of ours; it says what to do.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return IndexState()
    try:
        stored = json.loads(text)
        if stored["format"] != _FORMAT:
            raise ValueError(f"format {stored['format']}")
        positions = {
            (topic, int(partition)): Position(topic_id, int(following))
            for topic, partition, topic_id, following in stored["positions"]
        }
        return IndexState(positions, Watermarks.load(stored["watermarks"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} cannot be read ({error}). Stop the searcher, remove the folder {path.parent}, and start it again: "
            "the index is filled anew."
        ) from error


def write_state(path: Path, state: IndexState) -> None:
    """Replaces the file in one step; after a crash it holds the old state or the new one."""
    stored = {
        "format": _FORMAT,
        "positions": [[topic, partition, *position] for (topic, partition), position in state.positions.items()],
        "watermarks": state.watermarks.dump(),
    }
    fresh = path.with_suffix(".new")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(stored, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
