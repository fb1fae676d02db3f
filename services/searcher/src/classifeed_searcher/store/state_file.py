"""How far an index has come, in a file beside it, written after each commit; and which index is the current one."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from classifeed_common.kafka import Position
from classifeed_searcher.domain.watermarks import Watermarks
from classifeed_searcher.engine.analysis import ANALYSIS

# 2: indexes have digests, and lie in folders of their own. An index of another format is made again from the registry.
FORMAT: Final = 2


class UnusableIndex(Exception):
    """There is no index that is usable; the text says why. It is made again from the registry."""


@dataclass(slots=True)
class IndexState:
    """How far an index has come.

    Attributes:
        positions: next Kafka offset by (topic, partition).
        watermarks: of the shards.
        refused: version by key of documents that the index could not take; of these it has an older version or none.
    """

    positions: dict[tuple[str, int], Position] = field(default_factory=dict)
    watermarks: Watermarks = field(default_factory=Watermarks)
    refused: dict[str, int] = field(default_factory=dict)


def read_state(path: Path) -> IndexState:
    """Return the stored state.

    Raises:
        UnusableIndex: there is none, it cannot be read, or the index has other words than this release searches for.
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
    """Replace the file in one step; after a crash it holds the old state or the new one."""
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
    """Return what `write_json` wrote.

    Raises:
        UnusableIndex: there is no such file, it cannot be read, or it is of another format.
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
    """Replace a file in one step, durably."""
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
