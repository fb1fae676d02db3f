"""In which order and in which process the tests run."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any, Final

import pytest
from tests.run_report import report_run
from xdist.scheduler import LoadFileScheduling

from classifeed_common.embedded.memory import free_memory_bytes

_SHARED: Final = "tests/e2e/"
_OWN: Final = "tests/installations/"
_OTHERS: Final = ""
# What a process begins with, and goes on with when that is done. An installation of the whole suite takes a fifth of
# the cores even while nothing happens in it, so one process has the shared one, one has those of single tests, and
# others begin a second one at the end only, if the first has not come that far.
_PREFERENCES: Final = {"gw0": (_SHARED, _OTHERS, _OWN), "gw1": (_OWN, _OTHERS, _SHARED)}
_DEFAULT: Final = (_OTHERS, _OWN, _SHARED)
# Tests that wait stand first, those that calculate last: one process begins with the latter, for cores that would have
# nothing to do while all others wait.
_FROM_THE_END: Final = "gw3"
# Four leave almost a third of two cores idle (ADR 0100).
_PROCESSES: Final = 5
_BYTES_OF_ONE: Final = 3 << 29  # with its servers and what its tests start


def kind_of(scope: str) -> str:
    """Return which kind of installation a file of tests needs."""
    return next((kind for kind in (_SHARED, _OWN) if scope.startswith(kind)), _OTHERS)


class InstallersApart(LoadFileScheduling):  # type: ignore[misc]
    """A file of tests to each free process: tests with installations first to some of them, all others to the rest.

    Most tests wait, for servers and for limits that pass, so there are more processes than cores.
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
    """Return how many processes run the tests: fewer where memory is short."""
    free = free_memory_bytes()
    return _PROCESSES if free is None else max(1, min(_PROCESSES, free // _BYTES_OF_ONE))


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


def pytest_collection_finish() -> None:
    """Keep the garbage collector from going through half a million objects of the collection again and again."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Add what is printed about the whole run, in the process that has the terminal."""
    if hasattr(config, "workerinput"):
        collect_apart(config, config.workerinput)
    else:
        report_run(config)
