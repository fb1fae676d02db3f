"""Snapshot: a versioned file, validated by a schema, replaced as a whole while the process runs (ADR 0053)."""

from classifeed_common.snapshot.faults import DocumentFault, SnapshotError, SourceMissing
from classifeed_common.snapshot.snapshot import Loaded, Snapshot
from classifeed_common.snapshot.sources import FileSource, PackagedSource, Source

__all__ = [
    "DocumentFault",
    "FileSource",
    "Loaded",
    "PackagedSource",
    "Snapshot",
    "SnapshotError",
    "Source",
    "SourceMissing",
]
