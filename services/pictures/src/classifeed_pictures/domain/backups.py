"""Backups of the state: their manifests, and which backups are kept.

The manifest is written last and completes the backup. A restore checks all files against it before it changes anything.
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
    """A backup cannot be restored; the text names the file and the reason."""


class Stand(NamedTuple):
    """The position of a group in a partition: the id of the topic, and the next offset."""

    group: str
    topic: str
    partition: int
    topic_id: str
    next: int


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file of a backup.

    Attributes:
        table: table of its rows.
        name: name within the backup.
        sha256: hash of its bytes, in hexadecimal.
        size_bytes: size of the file.
        rows: number of rows.
    """

    table: str
    name: str
    sha256: str
    size_bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a complete backup.

    Attributes:
        name: name of the backup, made from its start time.
        ended_at: time of its last snapshot.
        rules: version of the rules of canonical URLs.
        partitions: number of partitions of the topic of events, by the positions.
        shards: number of snapshots of ranges of hashes, each taken in a separate transaction.
        highest_attempt: highest attempt of all states.
        stands: lowest position in each partition, over all snapshots.
        files: all files in order.
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
        """Return the start time, which is no later than the first snapshot."""
        return time_of(self.name)

    @property
    def size_bytes(self) -> int:
        """Return the total size of all files."""
        return sum(file.size_bytes for file in self.files)

    def rows_of(self, table: str) -> int:
        """Return the number of rows of a table."""
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
            BackupFault: it is no manifest, belongs to another backup, or was written by another release.
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
            raise BackupFault(f"the manifest of {name} belongs to {manifest.name}")
        return manifest


def name_at(at: datetime) -> str:
    """Return the name of a backup that begins at a time; names sort by it."""
    return at.astimezone(UTC).strftime(_TIME)


def time_of(name: str) -> datetime:
    """Return the start time of a backup."""
    return datetime.strptime(name, _TIME).replace(tzinfo=UTC)


def is_name(name: str) -> bool:
    """Return whether a text can be the name of a backup."""
    if not _NAME.fullmatch(name):
        return False
    try:
        time_of(name)
    except ValueError:
        return False
    return True


def lowest(stands: Iterable[Stand]) -> tuple[Stand, ...]:
    """Return the lowest position of each group in each partition; from there on, every snapshot can be brought up to
    date.

    Positions of topics with the same name and different ids cannot be compared: the last one is used.
    """
    found: dict[tuple[str, str, int], Stand] = {}
    for stand in stands:
        known = found.get(stand[:3])
        if known is None or known.topic_id != stand.topic_id or stand.next < known.next:
            found[stand[:3]] = stand
    return tuple(sorted(found.values()))


def removable(complete: Sequence[str], begun: Collection[str], *, kept: int, now: datetime) -> list[str]:
    """Return the names of backups to remove: old complete ones, and abandoned incomplete ones.

    Args:
        complete: names of backups with a manifest.
        begun: names of backups with other files.
        kept: number of complete backups that are kept.
        now: present time; an incomplete backup that began more than a day before counts as abandoned.
    """
    old = sorted(complete)[: max(len(complete) - kept, 0)]
    left = {name for name in begun if name not in complete and time_of(name) < now - _LEFTOVER_AGE}
    return sorted({*old, *left})
