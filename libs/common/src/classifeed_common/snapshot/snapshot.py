"""Snapshot: the newest valid version of a file, as a value that readers get without waiting."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import structlog
from jsonschema import Draft202012Validator

from classifeed_common.errors import Unavailable, name_fault
from classifeed_common.faults.interruptions import INTERRUPTIONS
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.snapshot.document import check_document, find_line, read_document
from classifeed_common.snapshot.faults import DocumentFault, SnapshotError, SourceMissing
from classifeed_common.snapshot.sources import Source
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.metrics import SNAPSHOT_REFUSED, SNAPSHOT_SWAPS

T = TypeVar("T")
LOOK_EVERY_S: Final = 1.0
_VERSION_DIGITS: Final = 12
_log = structlog.get_logger("snapshot")


@dataclass(frozen=True, slots=True)
class Loaded(Generic[T]):
    """One version of a file.

    Attributes:
        value: result of `parse`.
        version: `<name>@<hash>` with the document's top-level key `name`, or the hash alone. Store it with every
            decision that is made with the value.
    """

    value: T
    version: str


class Snapshot(Generic[T]):
    """A file that is checked repeatedly; while its content is invalid, the previous version stays in force.

    Take `current` once per decision: its values belong together, even if the version is replaced meanwhile.

    Args:
        name: name in logs, metrics and readiness, such as `rules`.
        source: source of the file.
        schema: JSON Schema (2020-12) of the document.
        parse: converts a valid document into the value; runs in a thread, so it must share no state. It raises
            `DocumentFault` with the path of the fault, or any ValueError.
        look_every_s: seconds between two checks. A new version comes into force after two checks: content that changes
            between them may be incomplete.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        *,
        schema: Mapping[str, Any],
        parse: Callable[[Any], T],
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        Draft202012Validator.check_schema(schema)
        self._name = name
        self._source = source
        self._validator = Draft202012Validator(schema)
        self._parse = parse
        self._look_every_s = look_every_s
        self._current: Loaded[T] | None = None
        self._digest = ""
        self._seen = ""  # stamp of the last check
        self._judged = ""  # stamp of the content that was accepted or refused last
        self._refused = ""  # why that content was refused
        self._fault = ""  # present fault; empty: the version in force is the source's

    @property
    def current(self) -> Loaded[T]:
        """The version in force; does not wait or lock, may be called in any thread."""
        assert self._current is not None, "open() comes first"
        return self._current

    def blocked(self) -> Mapping[str, str]:
        """Return the fault of the file, by the name of the snapshot, for `Role.blocked`."""
        if not self._fault:
            return {}
        return {
            self._name: f"{self._fault}. Version {self.current.version} stays in force until the file is corrected."
        }

    async def open(self) -> None:
        """Load the first version.

        There is no fallback: decisions by rules that nobody chose are worse than none.

        Raises:
            SnapshotError: the file is invalid, missing or cannot be read.
            Unavailable: the object store does not respond.
        """
        try:
            stamp = await self._source.stamp()
            content = await self._source.read()
        except (SourceMissing, DocumentFault, OSError) as error:
            raise SnapshotError(f"{self._name}: {self._explain(error)}") from error
        self._refused = await self._judge(content)
        if self._refused:
            raise SnapshotError(f"{self._name}: {self._refused}")
        self._judged = self._seen = stamp
        SNAPSHOT_REFUSED.labels(self._name).set(0)

    async def run(self, stop: asyncio.Event) -> None:
        """Check the file until `stop` is set; the loop of a role."""
        while not stop.is_set():
            await self.look()
            await wait_for_event(stop, self._look_every_s)

    async def look(self) -> None:
        """Check once: a changed file that is stable since the last check is accepted or refused."""
        try:
            stamp = await self._source.stamp()
            is_settled, self._seen = stamp == self._seen, stamp
            if stamp != self._judged and is_settled:
                content = await self._source.read()
                if await self._source.stamp() == stamp:
                    self._refused = await self._judge(content)
                    self._judged = stamp
        except DocumentFault as error:
            self._refused, self._judged = self._explain(error), stamp
        except (SourceMissing, OSError, Unavailable) as error:
            self._seen = ""
            self._note(self._explain(error))
            return
        self._note(self._refused)

    def close(self) -> None:
        """Close the connections of the source; the version in force stays."""
        self._source.close()

    async def _judge(self, content: bytes) -> str:
        """Put a content in force unless it is already; return why it is refused, or an empty text."""
        digest = hashlib.sha256(content).hexdigest()
        if digest == self._digest:
            return ""
        try:
            loaded = await asyncio.to_thread(self._load, content, digest)
        except ValueError as error:
            return self._explain(error)
        except INTERRUPTIONS:
            raise
        except BaseException as error:  # noqa: BLE001
            # A fault of `parse`: the version in force stays.
            log_fault(_log, "snapshot.parse.failed", error, snapshot=self._name, source=self._source.name)
            return self._explain(error)
        before, self._current, self._digest = self._current, loaded, digest
        SNAPSHOT_SWAPS.labels(self._name).inc()
        _log.info("snapshot.taken", snapshot=self._name, version=loaded.version, before=before and before.version)
        return ""

    def _load(self, content: bytes, digest: str) -> Loaded[T]:
        try:
            document = read_document(content, is_json=self._source.name.endswith(".json"))
            check_document(document, self._validator)
            value = self._parse(document)
        except DocumentFault as error:
            if error.line is None and error.path:
                error.line = find_line(content, error.path)
            raise
        own = document.get("name") if isinstance(document, dict) else None
        short = digest[:_VERSION_DIGITS]
        return Loaded(value, f"{own}@{short}" if isinstance(own, str) and own else short)

    def _explain(self, error: BaseException) -> str:
        if isinstance(error, DocumentFault):
            return f"{self._source.name}: {error}"
        if isinstance(error, SourceMissing):
            return str(error)
        return f"{self._source.name}: {name_fault(error)}"

    def _note(self, fault: str) -> None:
        if fault == self._fault:
            return
        self._fault = fault
        SNAPSHOT_REFUSED.labels(self._name).set(1 if fault else 0)
        if fault:
            _log.warning("snapshot.refused", snapshot=self._name, fault=fault, in_force=self.current.version)
        else:
            _log.info("snapshot.mended", snapshot=self._name, in_force=self.current.version)
