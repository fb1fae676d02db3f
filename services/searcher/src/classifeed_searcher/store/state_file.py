"""State file of an index, written after each commit, and durable JSON files."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from classifeed_common.kafka import Position
from classifeed_searcher.domain.watermarks import Watermarks
from classifeed_searcher.engine.analysis import ANALYSIS

# An index of another format is rebuilt from the registry. 2: indexes have digests and separate folders.
FORMAT: Final = 2


class UnusableIndex(Exception):
    """There is no usable index, so it is rebuilt from the registry; the text is the reason."""


@dataclass(slots=True)
class IndexState:
    """State of an index.

    Attributes:
        positions: next Kafka offset by (topic, partition).
        watermarks: watermarks of the shards.
        refused: version by key of refused documents; the index has an older version of them, or none.
    """

    positions: dict[tuple[str, int], Position] = field(default_factory=dict)
    watermarks: Watermarks = field(default_factory=Watermarks)
    refused: dict[str, int] = field(default_factory=dict)


def read_state(path: Path) -> IndexState:
    """Return the stored state.

    Raises:
        UnusableIndex: it is missing or unreadable, or the index has another version of the text analysis.
    """
    stored = read_json(path)
    if stored.get("analysis", 1) != ANALYSIS:
        raise UnusableIndex(
            f"{path.parent} was built with version {stored.get('analysis', 1)} of the text analysis, this release "
            f"uses version {ANALYSIS}"
        )
    try:
        positions = {
            (topic, int(partition)): Position(topic_id, int(following))
            for topic, partition, topic_id, following in stored["positions"]
        }
        refused = {str(pk): int(version) for pk, version in stored["refused"].items()}
        return IndexState(positions, Watermarks.load(stored["watermarks"]), refused)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableIndex(f"{path} cannot be read ({error!r})") from error


def write_state(path: Path, state: IndexState) -> None:
    """Replace the file atomically; after a crash it has the old state or the new one."""
    write_json(
        path,
        {
            "analysis": ANALYSIS,
            "positions": [[topic, partition, *position] for (topic, partition), position in state.positions.items()],
            "watermarks": state.watermarks.dump(),
            "refused": state.refused,
        },
    )


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a file that `write_json` wrote.

    Raises:
        UnusableIndex: the file is missing or unreadable, or has another format.
    """
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnusableIndex(f"{path} is missing") from None
    except (OSError, ValueError) as error:
        raise UnusableIndex(f"{path} cannot be read ({error})") from error
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        found = stored.get("format") if isinstance(stored, dict) else None
        raise UnusableIndex(f"{path} is of format {found}, this release reads {FORMAT}")
    return stored


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace a file atomically and durably."""
    fresh = path.with_suffix(".new")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, **content}, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
