"""Uploads: files that sellers hand in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from classifeed_common.errors import FieldViolation, InvalidArgument

DEFAULT_NAMESPACE = "default"
_RESERVED = re.compile(r"^(manual|parsed\..*)$")


@dataclass(frozen=True, slots=True)
class NewUpload:
    """A file that has come whole, before it is stored.

    `mode` and `disposition` are the numbers of the enums in load.proto; never the unspecified ones.
    """

    seller_id: str
    namespace: str
    mode: int
    disposition: int
    file_name: str
    request_id: str | None
    sha256: str
    size_bytes: int


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


def namespace_for_upload(asked: str) -> str:
    """Returns the namespace that an upload goes to.

    Raises:
        InvalidArgument: the namespace is one that uploads may not touch.
    """
    namespace = asked or DEFAULT_NAMESPACE
    if _RESERVED.match(namespace):
        raise InvalidArgument(
            "NAMESPACE_RESERVED",
            f"The namespace {namespace!r} is reserved: offers there are not loaded from uploads. Choose another name.",
            violations=[FieldViolation("spec.namespace", "must not be `manual` or begin with `parsed.`")],
        )
    return namespace
