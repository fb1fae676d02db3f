"""Uploads: files that sellers upload."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from classifeed_api.domain.namespaces import NamespaceKey


def reference_of(upload_id: UUID) -> str:
    """Return the name by which an upload refers to its file."""
    return f"upload:{upload_id}"


@dataclass(frozen=True, slots=True)
class NewUpload:
    """A file that was received in full, before it is stored.

    Attributes:
        mode: number of the LoadMode in load.proto; never the unspecified one.
        disposition: number of the Disposition in load.proto; never the unspecified one.
        force: load the file although the namespace has a feed.
        allow_removals: load the file however many offers it removes.
        allow_changes: load the file however much prices change, and even if no offer in it is available.
        default_currency: ISO code for amounts without a currency.
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
        """The namespace that the file is loaded into."""
        return NamespaceKey(self.seller_id, self.namespace)


@dataclass(frozen=True, slots=True)
class Upload:
    """A stored upload; `task_id` is None until the processor has created the task."""

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
        """The namespace that the file is loaded into."""
        return NamespaceKey(self.seller_id, self.namespace)
