"""Order of the tests, and their distribution over processes."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any, Final

import pytest
from tests.run_report import report_run
from xdist.scheduler import LoadFileScheduling

from classifeed_devkit.embedded.memory import free_memory_bytes

_SHARED: Final = "tests/e2e/"
_OWN: Final = "tests/installations/"
_OTHERS: Final = ""
# Kinds of files in the order in which a process runs them. An idle installation of the whole suite takes a fifth of the
# cores. So one process starts with the shared installation and one with the installations of single tests. Other
# processes start an installation only at the end, if such files are left.
_PREFERENCES: Final = {"gw0": (_SHARED, _OTHERS, _OWN), "gw1": (_OWN, _OTHERS, _SHARED)}
_DEFAULT: Final = (_OTHERS, _OWN, _SHARED)
# Tests that wait come first, tests that compute last. One process begins at the end, so that the cores are not idle
# while all other processes wait.
_FROM_THE_END: Final = "gw3"
# Four processes leave almost a third of two cores idle (ADR 0100).
_PROCESSES: Final = 5
# Fixtures of servers; tests that use one are not in the fast tier.
_SERVERS: Final = frozenset({"postgres", "kafka", "s3"})
_BYTES_OF_ONE: Final = 3 << 29  # a process with its servers and the processes that its tests start


def kind_of(scope: str) -> str:
    """Return the kind of installation that a file of tests needs."""
    return next((kind for kind in (_SHARED, _OWN) if scope.startswith(kind)), _OTHERS)


class InstallersApart(LoadFileScheduling):  # type: ignore[misc]
    """Assign a file of tests to each free process; some processes prefer tests with installations.

    Most tests wait for servers and timeouts, so there are more processes than cores.
    """

    def _assign_work_unit(self, node: Any) -> None:
        wanted = _PREFERENCES.get(node.gateway.id, _DEFAULT)
        order = reversed(self.workqueue) if node.gateway.id == _FROM_THE_END else self.workqueue
        scope = min(order, key=lambda each: wanted.index(kind_of(each)), default=None)
        if scope is not None:
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes for the tests: fewer if memory is short."""
    free = free_memory_bytes()
    return _PROCESSES if free is None else max(1, min(_PROCESSES, free // _BYTES_OF_ONE))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Distribute files with `InstallersApart` if `--dist loadfile` is set."""
    return InstallersApart(config, log) if config.getoption("dist") == "loadfile" else None


def collect_apart(config: pytest.Config, worker: Mapping[str, Any]) -> None:
    """Make each process start collecting in a different folder, so that processes reuse each other's byte code."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    folders = [
        str(each) for root in config.args for each in sorted(config.rootpath.glob(f"{root}/*/")) if each.is_dir()
    ]
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    begin = len(folders) * number // count
    config.args[:] = folders[begin:] + folders[:begin]


@pytest.hookimpl(tryfirst=True)  # `-m` sees the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need a server, and run long tests first, so that no process ends late with a long test."""
    for item in items:
        if not _SERVERS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("server")
    items.sort(
        key=lambda item: (
            item.get_closest_marker("e2e") is None,
            item.get_closest_marker("slow") is None,
            item.nodeid.partition("::")[0],  # the same order in all processes
        )
    )


def pytest_collection_finish() -> None:
    """Freeze the half a million objects of the collection, so that the garbage collector does not scan them again."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Register the reports about the run, in the process that has the terminal."""
    if hasattr(config, "workerinput"):
        collect_apart(config, config.workerinput)
    else:
        report_run(config)
