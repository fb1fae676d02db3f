"""Snapshot: the newest right version of a file, as a value that readers take without waiting."""

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
        value: what `parse` made of it.
        version: `<name>@<hash>`, the name being the document's own (its top-level key `name`), or the hash alone. It
            belongs to every decision that is made with the value.
    """

    value: T
    version: str


class Snapshot(Generic[T]):
    """A file that is looked at again and again; what is wrong with it leaves the version before in force.

    Take `current` once for each decision: what is read of it belongs together, whatever is swapped meanwhile.

    Args:
        name: what it is called in logs, metrics and readiness, such as `rules`.
        source: where the file is.
        schema: JSON Schema (2020-12) of the document.
        parse: makes the value of a document that is as the schema says; in a thread, so it shares nothing. It raises
            `DocumentFault` with the path of what is wrong, or any ValueError.
        look_every_s: from one look to the next, in seconds. A new version is in force after two looks: what changes
            from one to the next may be half written.
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
        self._seen = ""  # stamp of the last look
        self._judged = ""  # stamp of the content that was taken or refused last
        self._refused = ""  # why that content was refused
        self._fault = ""  # what is wrong now; empty: what is in force is what the source has

    @property
    def current(self) -> Loaded[T]:
        """The version in force; neither waits nor locks, from any thread."""
        assert self._current is not None, "open() comes first"
        return self._current

    def blocked(self) -> Mapping[str, str]:
        """Return what is wrong with the file, by the name of the snapshot, for `Role.blocked`."""
        if not self._fault:
            return {}
        return {
            self._name: f"{self._fault}. Version {self.current.version} stays in force until the file is corrected."
        }

    async def open(self) -> None:
        """Load the first version.

        Nothing else is taken in its place: decisions by rules that nobody chose are worse than none.

        Raises:
            SnapshotError: the file is wrong, is not there or cannot be read.
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
        """Look until `stop` is set; the loop of a role."""
        while not stop.is_set():
            await self.look()
            await wait_for_event(stop, self._look_every_s)

    async def look(self) -> None:
        """Look once: what has changed, and did not change any more since the last look, is taken or refused."""
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
        """Put a content in force, unless it is so already; return why it is refused, or nothing."""
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
            # A fault of `parse`: the version in force is none the worse for it.
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
