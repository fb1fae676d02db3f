"""Backups of the state: what a manifest says, and which backups are kept.

A backup is complete once its manifest is there, which is written last. All that it says of its files is checked before
a restore changes anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

_FORMAT: Final = 1
_TIME: Final = "%Y%m%dT%H%M%S%fZ"
_NAME: Final = re.compile(r"[0-9]{8}T[0-9]{12}Z")
_LEFTOVER_AGE: Final = timedelta(days=1)


class BackupFault(Exception):
    """A backup cannot be restored; the text says which file of it, and why."""


class Stand(NamedTuple):
    """Where a group stood in a partition: the id of the topic, and the next offset."""

    group: str
    topic: str
    partition: int
    topic_id: str
    next: int


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file of a backup.

    Attributes:
        table: Whose rows it has.
        name: Within the backup.
        sha256: Of its bytes, in hex.
        size_bytes: How many these are.
        rows: How many rows it has.
    """

    table: str
    name: str
    sha256: str
    size_bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a complete backup consists of.

    Attributes:
        name: Of the backup: the time at which it began.
        ended_at: When its last snapshot was taken.
        rules: Version of the rules of canonical URLs.
        partitions: Of the topic of events, by the stands.
        shards: Snapshots that it has: ranges of hashes, each taken in a transaction of its own.
        highest_attempt: Of all its states.
        stands: The lowest one in each partition, of all its snapshots.
        files: All of them, in their order.
    """

    name: str
    ended_at: datetime
    rules: str
    partitions: int
    shards: int
    highest_attempt: int
    stands: tuple[Stand, ...]
    files: tuple[BackupFile, ...]

    @property
    def began_at(self) -> datetime:
        """Return when its first snapshot was taken, or a little before."""
        return time_of(self.name)

    @property
    def size_bytes(self) -> int:
        """Return the bytes of all files."""
        return sum(file.size_bytes for file in self.files)

    def rows_of(self, table: str) -> int:
        """Return how many rows of a table it has."""
        return sum(file.rows for file in self.files if file.table == table)

    def files_of(self, table: str) -> list[BackupFile]:
        """Return the files with rows of a table."""
        return [file for file in self.files if file.table == table]

    def to_json(self) -> bytes:
        """Return it as it is stored."""
        document = asdict(self) | {"format": _FORMAT, "ended_at": self.ended_at.isoformat()}
        return json.dumps(document, indent=1).encode()

    @classmethod
    def from_json(cls, name: str, data: bytes) -> Manifest:
        """Return the manifest that `to_json` stored for a backup.

        Raises:
            BackupFault: it is none, that of another backup, or of a release to come.
        """
        try:
            document: dict[str, Any] = json.loads(data)
            if document.pop("format") != _FORMAT:
                raise BackupFault(f"the manifest of {name} was written by another release")
            manifest = cls(
                **document
                | {
                    "ended_at": datetime.fromisoformat(document["ended_at"]),
                    "stands": tuple(Stand(*stand) for stand in document["stands"]),
                    "files": tuple(BackupFile(**file) for file in document["files"]),
                }
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BackupFault(f"the manifest of {name} cannot be read: {error}") from error
        if manifest.name != name:
            raise BackupFault(f"the manifest of {name} is that of {manifest.name}")
        return manifest


def name_at(at: datetime) -> str:
    """Return the name of a backup that begins at a time; names sort by it."""
    return at.astimezone(UTC).strftime(_TIME)


def time_of(name: str) -> datetime:
    """Return when a backup began."""
    return datetime.strptime(name, _TIME).replace(tzinfo=UTC)


def is_name(name: str) -> bool:
    """Return whether this can be the name of a backup."""
    if not _NAME.fullmatch(name):
        return False
    try:
        time_of(name)
    except ValueError:
        return False
    return True


def lowest(stands: Iterable[Stand]) -> tuple[Stand, ...]:
    """Return the lowest stand of each group in each partition: from there on, no event is missing in any snapshot.

    Those of different topics of one name do not compare: the last of them counts.
    """
    found: dict[tuple[str, str, int], Stand] = {}
    for stand in stands:
        known = found.get(stand[:3])
        if known is None or known.topic_id != stand.topic_id or stand.next < known.next:
            found[stand[:3]] = stand
    return tuple(sorted(found.values()))


def removable(complete: Sequence[str], begun: Collection[str], *, kept: int, now: datetime) -> list[str]:
    """Return the names of backups that can go: complete ones beyond the newest, and others that were given up.

    Args:
        complete: names of those with a manifest.
        begun: names of those with other files.
        kept: how many complete ones stay.
        now: incomplete ones that began a day before it are given up, unless a complete one could be older.
    """
    old = sorted(complete)[: max(len(complete) - kept, 0)]
    left = {name for name in begun if name not in complete and time_of(name) < now - _LEFTOVER_AGE}
    return sorted({*old, *left})
