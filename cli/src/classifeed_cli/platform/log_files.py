"""Logs of an installation: newest lines, lines about a load, and lines as they are written."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from classifeed_cli.exit_codes import refused
from classifeed_cli.platform.planning.layout import Layout

_POLL_S: Final = 0.2
# Without a filter, only the end of a file is searched for the newest lines.
_END_BYTES: Final = 4 * 1024 * 1024
_TIME: Final = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?")
_OWN_COLUMNS: Final = frozenset({"timestamp", "level", "event", "service", "logger", "exception"})

Filter = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log.

    Attributes:
        service: Service that wrote it.
        text: Text of the line, without the line end.
        fields: Members of the line if it is a JSON object, otherwise empty.
    """

    service: str
    text: str
    fields: dict[str, Any]

    @classmethod
    def of(cls, service: str, text: str) -> Line:
        """Parse a line."""
        fields: dict[str, Any] = {}
        if text.startswith("{"):
            with suppress(ValueError):
                fields = json.loads(text)
        return cls(service, text, fields)

    @property
    def time(self) -> datetime | None:
        """Time of the line; None if it has none. Times without a zone are in UTC."""
        stamp = str(self.fields.get("timestamp", "")) or next(iter(_TIME.findall(self.text[:40])), "")
        try:
            found = datetime.fromisoformat(stamp.replace("/", "-").replace(",", "."))
        except ValueError:
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    @property
    def words(self) -> str:
        """The line for people: local time, level, service, event and further fields."""
        if not self.fields:
            return f"{self.service}: {self.text}"
        time = f"{self.time.astimezone():%Y-%m-%d %H:%M:%S.%f}"[:-3] if self.time else ""
        level = str(self.fields.get("level", ""))
        rest = " ".join(f"{name}={value}" for name, value in self.fields.items() if name not in _OWN_COLUMNS)
        trace = self.fields.get("exception")
        head = f"{time} {level:<7} {self.service}: {self.fields.get('event', '')} {rest}".strip()
        return f"{head}\n{trace}" if trace else head


def log_files(layout: Layout, service: str = "") -> dict[str, Path]:
    """Return the log files of a folder by service: of one service, or of all services and the supervisor.

    Raises:
        CommandError: REFUSED, the folder has no such log.
    """
    found = {path.stem: path for path in sorted(layout.logs.glob("*.log"))}
    if service:
        if service not in found:
            raise refused(
                "LOG_NOT_FOUND", f"no log of {service} in {layout.logs}; there are: {', '.join(found) or '-'}"
            )
        return {service: found[service]}
    if not found:
        raise refused("LOG_NOT_FOUND", f"there are no logs in {layout.logs}")
    return {name: path for name, path in found.items() if name not in {"postgres", "kafka", "s3"}}


def about_task(seller_id: str, namespace: str, task_id: str) -> Filter:
    """Return a filter for lines about a task: they contain its number, seller and namespace."""
    number = re.compile(rf"(?<!\d){re.escape(task_id)}(?!\d)")
    return lambda text: seller_id in text and namespace in text and bool(number.search(text))


def newest_lines(files: dict[str, Path], count: int, wanted: Filter | None) -> list[Line]:
    """Return the newest lines of all files, ordered by time. A line without a time follows the previous line."""
    lines: list[tuple[datetime, Line]] = []
    for service, path in files.items():
        before = datetime.min.replace(tzinfo=UTC)
        for text in _last(path, count, wanted):
            line = Line.of(service, text)
            before = line.time or before
            lines.append((before, line))
    lines.sort(key=lambda each: each[0])
    return [line for _, line in lines[-count:]]


def _last(path: Path, count: int, wanted: Filter | None) -> Sequence[str]:
    with path.open("rb") as file:
        if wanted is None:
            file.seek(max(0, path.stat().st_size - _END_BYTES))
        texts = (raw.decode(errors="replace").rstrip("\r\n") for raw in file)
        return deque((text for text in texts if text and (wanted is None or wanted(text))), maxlen=count)


class Follower:
    """Iterator over lines that are written from now on.

    Args:
        files: Log files by service.
        wanted: Filter of lines; None for all.
    """

    def __init__(self, files: dict[str, Path], wanted: Filter | None) -> None:
        self._files = files
        self._wanted = wanted
        self._places = {service: path.stat().st_size for service, path in files.items()}
        self._halves = dict.fromkeys(files, b"")

    def __iter__(self) -> Iterator[Line]:
        """Yield lines forever, until the reader is interrupted."""
        while True:
            for service in self._files:
                yield from self._written(service)
            time.sleep(_POLL_S)

    def _written(self, service: str) -> Iterator[Line]:
        path = self._files[service]
        if path.stat().st_size < self._places[service]:  # the log was started again
            self._places[service], self._halves[service] = 0, b""
        with path.open("rb") as file:
            file.seek(self._places[service])
            *whole, self._halves[service] = (self._halves[service] + file.read()).split(b"\n")
            self._places[service] = file.tell()
        for raw in whole:
            text = raw.decode(errors="replace").rstrip("\r")
            if text and (self._wanted is None or self._wanted(text)):
                yield Line.of(service, text)
