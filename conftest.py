"""In which order and in which process the tests run, and how long each group of them took."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling

_SHARED: Final = "tests/e2e/"
_OWN: Final = "tests/installations/"
_OTHERS: Final = ""
# What a process begins with, and goes on with when that is done. An installation of the whole suite takes a fifth of
# the cores even while nothing happens in it, so one process has the shared one, one has those of single tests, and
# others begin a second one at the end only, if the first has not come that far.
_PREFERENCES: Final = {"gw0": (_SHARED, _OTHERS, _OWN), "gw1": (_OWN, _OTHERS, _SHARED)}
_DEFAULT: Final = (_OTHERS, _OWN, _SHARED)
# Tests that wait stand first, those that calculate last: these processes begin with the latter, for cores that would
# have nothing to do while all others wait.
_FROM_THE_END: Final = frozenset({"gw4", "gw5"})
# On fast cores four processes wait for a fifth of the time, all at once; on slow ones the servers of two processes more
# cost more than they gain (ADR 0070).
_FEW, _MANY = 4, 6
_STEPS: Final = 2_000_000
_FAST_S: Final = 0.033  # of a core for so many steps: fast ones take 0.022, slow ones twice that


def kind_of(scope: str) -> str:
    """Return which kind of installation a file of tests needs."""
    return next((kind for kind in (_SHARED, _OWN) if scope.startswith(kind)), _OTHERS)


class InstallersApart(LoadFileScheduling):  # type: ignore[misc]
    """A file of tests to each free process: tests with installations first to some of them, all others to the rest.

    Most tests wait, for servers and for limits that pass, so there are more processes than cores.
    """

    def _assign_work_unit(self, node: Any) -> None:
        wanted = _PREFERENCES.get(node.gateway.id, _DEFAULT)
        order = reversed(self.workqueue) if node.gateway.id in _FROM_THE_END else self.workqueue
        scope = min(order, key=lambda each: wanted.index(kind_of(each)), default=None)
        if scope is not None:
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes run the tests, by the speed of this machine's cores."""
    return _MANY if min(_steps_s() for _ in range(5)) < _FAST_S else _FEW


def _steps_s() -> float:
    began_s = time.process_time()
    for _ in range(_STEPS):
        pass
    return time.process_time() - began_s


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Give files to processes as `InstallersApart` says, where `--dist loadfile` is given."""
    return InstallersApart(config, log) if config.getoption("dist") == "loadfile" else None


def collect_apart(config: pytest.Config, worker: Mapping[str, Any]) -> None:
    """Have each process begin to collect in another folder: modules that one has compiled are there for the others."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    folders = [
        str(each) for root in config.args for each in sorted(config.rootpath.glob(f"{root}/*/")) if each.is_dir()
    ]
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    begin = len(folders) * number // count
    config.args[:] = folders[begin:] + folders[:begin]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what takes long first, so that no process is left alone with it at the end, and installations stop early."""
    items.sort(
        key=lambda item: (
            item.get_closest_marker("e2e") is None,
            item.get_closest_marker("slow") is None,
            item.nodeid.partition("::")[0],  # one order for all processes, wherever each began
        )
    )


class GroupTimes:
    """Seconds of tests by folder, added up over all processes."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._tests: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one phase of a test."""
        parts = report.nodeid.split("/")
        group = "/".join(parts[: 1 if parts[0] == "cli" else 2])
        self._seconds[group] += report.duration
        self._tests[group] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table, the longest first."""
        if self._tests.total() < 100:
            return
        terminalreporter.section("seconds by group, of all processes together")
        for group, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
            terminalreporter.line(f"{group:24} {self._tests[group]:6} tests {seconds:8.0f} s")


class Figures:
    """What tests have measured, under the property `figure`."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the figures of one test."""
        if report.when == "call":
            self._found += [str(value) for name, value in report.user_properties if name == "figure"]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print each in a line."""
        if self._found:
            terminalreporter.section("figures")
        for figure in self._found:
            terminalreporter.line(figure)


def pytest_configure(config: pytest.Config) -> None:
    """Add the table of times and the figures, in the process that has the terminal."""
    if hasattr(config, "workerinput"):
        collect_apart(config, config.workerinput)
    else:
        config.pluginmanager.register(GroupTimes(), "group-times")
        config.pluginmanager.register(Figures(), "figures")
