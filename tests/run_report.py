"""Output about a test run: failures immediately, state of the machine, figures, times by folder."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from typing import Any, Final

import pytest

from classifeed_devkit.embedded.memory import free_memory_bytes

_LONGEST: Final = 40  # number of files whose times are printed
_WHOLE: Final = 100  # number of tests from which on times and memory are printed
_TICK_S: Final = 1.0
_STILL_S: Final = 20.0  # longer than any of the processes waits for a core
_LITTLE_BYTES: Final = 1 << 30


class GroupTimes:
    """Seconds of tests by folder and by file, summed over all processes."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._files: defaultdict[str, float] = defaultdict(float)
        self._tests: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one phase of a test."""
        parts = report.nodeid.split("/")
        group = "/".join(parts[: 1 if parts[0] == "cli" else 2])
        self._seconds[group] += report.duration
        self._files[report.nodeid.partition("::")[0]] += report.duration
        self._tests[group] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the folders, the longest first, and the longest files."""
        if self._tests.total() < _WHOLE:
            return
        terminalreporter.section("seconds by group, of all processes together")
        for group, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
            terminalreporter.line(f"{group:24} {self._tests[group]:6} tests {seconds:8.0f} s")
        for file, seconds in sorted(self._files.items(), key=lambda item: -item[1])[:_LONGEST]:
            terminalreporter.line(f"{seconds:6.0f} s {file}")


class Figures:
    """Measurements of tests, from their property `figure`."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the figures of one test."""
        if report.when == "call":
            self._found += [str(value) for name, value in report.user_properties if name == "figure"]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print each figure on a line."""
        if self._found:
            terminalreporter.section("figures")
        for figure in self._found:
            terminalreporter.line(figure)


class Failures:
    """Prints failures immediately, for runs that end before their summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print a line about a failed phase, or about the test during which a process ended."""
        if not report.failed:
            return
        process = getattr(getattr(report, "node", None), "gateway", None)
        where = f" on {process.id}" if process is not None else ""
        crash = getattr(report.longrepr, "reprcrash", None)
        why = str(report.longrepr if crash is None else crash.message).strip() or "no message"
        _print_line(self._config, f"{report.when} failed{where}: {report.nodeid}: {why.splitlines()[0][:300]}")


class Machine:
    """State of the machine during the run: pauses of all processes, and the least free memory.

    If a machine pauses for a minute, or kills processes for lack of memory, tests fail without a defect.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._ended = threading.Event()
        self._least_bytes: int | None = None

    def pytest_sessionstart(self) -> None:
        """Start to watch."""
        threading.Thread(target=self._watch, name="machine", daemon=True).start()

    def pytest_sessionfinish(self) -> None:
        """Stop watching."""
        self._ended.set()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the least free memory."""
        if self._least_bytes is not None and len(terminalreporter.stats.get("passed", ())) >= _WHOLE:
            terminalreporter.line(f"memory: at least {self._least_bytes >> 20} MiB were free")

    def _watch(self) -> None:
        last_s = time.time()
        while not self._ended.wait(_TICK_S):
            now_s = time.time()
            if now_s - last_s > _STILL_S:
                _print_line(self._config, f"the machine paused for {now_s - last_s:.0f} s")
            last_s = now_s
            free = free_memory_bytes()
            if free is None or (self._least_bytes is not None and free >= self._least_bytes):
                continue
            if free < _LITTLE_BYTES <= (self._least_bytes or _LITTLE_BYTES):
                _print_line(self._config, f"{free >> 20} MiB of memory are left")
            self._least_bytes = free


def report_run(config: pytest.Config) -> None:
    """Register all reports, in the process that has the terminal."""
    for each in (GroupTimes(), Figures(), Failures(config), Machine(config)):
        config.pluginmanager.register(each, type(each).__name__)


def _print_line(config: pytest.Config, text: str) -> None:
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    terminal.ensure_newline()
    terminal.write_line(f"{time.strftime('%H:%M:%S')} {text}")
