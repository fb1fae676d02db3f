"""Uploads: files that sellers hand in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from classifeed_api.domain.namespaces import NamespaceKey


def reference_of(upload_id: UUID) -> str:
    """Return what the file of an upload is referred to by."""
    return f"upload:{upload_id}"


@dataclass(frozen=True, slots=True)
class NewUpload:
    """A file that has come whole, before it is stored.

    `mode` and `disposition` are the numbers of the enums in load.proto; never the unspecified ones. `force`: load it
    although the namespace has a feed. `allow_removals`: load it however much it removes. `allow_changes`: load it
    however its prices move, and though nothing in it is available. `default_currency`: ISO code of amounts for which
    the file names none.
    """

    seller_id: str
    namespace: str
    mode: int
    disposition: int
    file_name: str
    request_id: str | None
    sha256: str
    size_bytes: int
    force: bool = False
    allow_removals: bool = False
    default_currency: str = ""
    allow_changes: bool = False

    @property
    def key(self) -> NamespaceKey:
        """The namespace that it goes to."""
        return NamespaceKey(self.seller_id, self.namespace)


@dataclass(frozen=True, slots=True)
class Upload:
    """A stored upload; `task_id` is unset until the processor has made the task."""

    upload_id: UUID
    seller_id: str
    namespace: str
    mode: int
    disposition: int
    file_name: str
    sha256: str
    size_bytes: int
    task_id: int | None
    created_at: datetime
    allow_removals: bool = False
    default_currency: str = ""
    allow_changes: bool = False

    @property
    def key(self) -> NamespaceKey:
        """The namespace that it goes to."""
        return NamespaceKey(self.seller_id, self.namespace)
