"""Requests for tasks: for the file of an upload, the file of a fetch, or the removal of a feed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_domain.currencies import CURRENCY_CODES

_OF_A_FETCH: Final = ("feed_loader_task_id", "feed_loader_result_id")
_OF_A_LOAD: Final = (
    "upload_id", *_OF_A_FETCH, "source_sha256", "source_bytes", "file_name", "format", "default_currency",
    "skip_if_loaded",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WantedTask:
    """A valid request for one task.

    Attributes:
        upload_id: Id of the upload; None: the file was not uploaded.
        feed_loader_task_id: Id of the fetch's source; None: the file was not fetched.
        feed_loader_result_id: Number of the fetch; None: the file was not fetched.
        feed_version: Version of the feed that was fetched or is removed; 0 for an upload.
        format_wanted: The only format that the file may have; empty: any.
        default_currency: ISO code for amounts without a currency; empty: the format's default.
        skip_if_loaded: Whether an existing load of the same file suffices.
        allow_removals: Whether all removals are allowed in advance. The first request for a task decides.
        allow_changes: Whether all changes of prices and availability are allowed in advance. The first request for a
            task decides.
    """

    seller_id: str
    namespace: str
    kind: task_pb2.TaskKind
    mode: load_pb2.LoadMode
    disposition: load_pb2.Disposition
    upload_id: str | None
    feed_loader_task_id: int | None
    feed_loader_result_id: int | None
    feed_version: int
    source_sha256: str
    source_bytes: int
    file_name: str
    format_wanted: str
    default_currency: str
    skip_if_loaded: bool
    allow_removals: bool
    allow_changes: bool

    @property
    def what(self) -> str:
        """A description of the load or removal, for messages."""
        if self.upload_id is not None:
            return f"upload {self.upload_id}"
        if self.feed_loader_result_id is not None:
            return f"fetch {self.feed_loader_result_id} of source {self.feed_loader_task_id}"
        return f"removal of version {self.feed_version} of the feed"


def read_request(request: CreateTaskRequest) -> WantedTask:
    """Validate a request and fill in its defaults.

    Raises:
        InvalidArgument: the request has no origin or several, or fields that do not belong to its origin.
    """
    violations = list(_violations_of(request))
    if violations:
        first = violations[0]
        raise InvalidArgument(
            "REQUEST_INVALID",
            f"CreateTaskRequest.{first.field}: {first.description}. Correct the request and send it again.",
            violations=violations,
        )
    return WantedTask(
        seller_id=request.seller_id,
        namespace=request.namespace,
        kind=request.kind or task_pb2.TASK_KIND_LOAD,
        mode=request.mode or load_pb2.LOAD_MODE_REPLACE,
        disposition=request.disposition or load_pb2.DISPOSITION_DELETE,
        upload_id=request.upload_id or None,
        feed_loader_task_id=request.feed_loader_task_id or None,
        feed_loader_result_id=request.feed_loader_result_id or None,
        feed_version=request.feed_version,
        source_sha256=request.source_sha256,
        source_bytes=request.source_bytes,
        file_name=request.file_name,
        format_wanted=request.format,
        default_currency=request.default_currency,
        skip_if_loaded=request.skip_if_loaded,
        allow_removals=request.allow_removals,
        allow_changes=request.allow_changes,
    )


def _violations_of(request: CreateTaskRequest) -> Iterator[FieldViolation]:
    if request.kind == task_pb2.TASK_KIND_DELETE:
        yield from _refuse(request, _OF_A_LOAD, "must be empty: a DELETE has no file")
        if request.mode == load_pb2.LOAD_MODE_PATCH:
            yield FieldViolation("mode", "must not be PATCH: a DELETE leaves nothing of the feed")
        yield from _require(
            request, ("feed_version",), "is missing: a DELETE names the version of the feed that is removed"
        )
        return
    yield from _require(request, ("source_sha256",), "is missing: a LOAD has a file")
    if request.disposition == load_pb2.DISPOSITION_DELETE_ALL:
        yield FieldViolation("disposition", "must not be DELETE_ALL: a LOAD leaves the offers that are kept by hand")
    if request.default_currency and request.default_currency not in CURRENCY_CODES:
        yield FieldViolation("default_currency", "is not the code of a currency in ISO 4217")
    is_fetched = any(getattr(request, field) for field in _OF_A_FETCH)
    if not request.upload_id and not is_fetched:
        yield FieldViolation("upload_id", "is missing: a LOAD names its upload, or its fetch by feed_loader_task_id")
    elif request.upload_id:
        yield from _refuse(request, _OF_A_FETCH, "must be empty if upload_id is set: a file has one origin")
        if not is_fetched:
            yield from _refuse(request, ("feed_version", "skip_if_loaded"), "must be empty for an upload")
    else:
        yield from _require(request, (*_OF_A_FETCH, "feed_version"), "is missing: a fetched file names it")


def _refuse(request: CreateTaskRequest, fields: tuple[str, ...], words: str) -> Iterator[FieldViolation]:
    return (FieldViolation(field, words) for field in fields if getattr(request, field))


def _require(request: CreateTaskRequest, fields: tuple[str, ...], words: str) -> Iterator[FieldViolation]:
    return (FieldViolation(field, words) for field in fields if not getattr(request, field))
