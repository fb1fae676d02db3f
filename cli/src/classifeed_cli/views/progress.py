"""Progress of a load on stderr: a bar on a terminal, otherwise a line for each stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from classifeed.feeds.v1 import feed_pb2, task_pb2
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.wrapping import cut, one_line
from classifeed_cli.views.amounts import size_words

_LONGEST_STAGE = 30
_REFRESHES_A_SECOND = 8
# A rate over a shorter time would depend on single batches.
_RATE_WINDOW_S = 0.5


class LoadProgress:
    """Shows the progress of a load. Use it in a `with` block; the bar is removed at its end.

    Args:
        out: Output of the command.
        clock: Clock for the rate, in seconds.
    """

    def __init__(self, out: Output, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._began: tuple[str, float, int] = ("", 0.0, 0)
        self._stage = ""
        self._is_live = out.errors.is_interactive
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[left]}"),
            console=out.errors,
            transient=True,
            expand=True,
            refresh_per_second=_REFRESHES_A_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._row: TaskID = self._bar.add_task("", total=None, count="", rate="", left="")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_live:
            self._bar.stop()

    def sending(self, name: str, sent_bytes: int, total_bytes: int) -> None:
        """Show the progress of an upload."""
        self._show(f"sending {name}", sent_bytes, total_bytes, f"{size_words(sent_bytes)} of {size_words(total_bytes)}")

    def waiting(self, stage: str) -> None:
        """Show the awaited event, without counts."""
        self._show(stage)

    def fetch(self, fetch: feed_pb2.Fetch) -> None:
        """Show the progress of a fetch."""
        if fetch.outcome == feed_pb2.FETCH_OUTCOME_QUEUED:
            self._show(f"fetch {fetch.fetch_id} {'waits for its host' if fetch.message else 'is queued'}")
        else:
            self._show("fetching the file", count=size_words(fetch.bytes) if fetch.bytes else "")

    def task(self, task: task_pb2.Task) -> None:
        """Show the progress of a load: loaded offers, rate, and remaining time."""
        done, total = task.statistics.total, task.expected_total
        if task.phase == task_pb2.TASK_PHASE_UNSPECIFIED:
            self._show(f"load {task.task_id} is queued")
        elif not total:
            self._show("checking the file" if task.kind != task_pb2.TASK_KIND_DELETE else "removing offers")
        elif done < total:
            rate = self._rate(task)
            left = f"{_clock((total - done) / rate)} left" if rate else ""
            self._show("loading", done, total, f"{done:,} of {total:,} offers", f"{rate:,.0f}/s" if rate else "", left)
        else:
            self._show("finishing", done, total, f"{done:,} of {total:,} offers")

    def _rate(self, task: task_pb2.Task) -> float:
        """Return the offers per second since the load was first seen; 0 until that is known."""
        name, began, done_then = self._began
        if name != task.name:
            self._began = (task.name, self._clock(), task.statistics.total)
            return 0.0
        passed = self._clock() - began
        return (task.statistics.total - done_then) / passed if passed >= _RATE_WINDOW_S else 0.0

    def _show(
        self, stage: str, done: int = 0, total: int | None = None, count: str = "", rate: str = "", left: str = ""
    ) -> None:
        stage = cut(one_line(stage), _LONGEST_STAGE)
        if self._is_live:
            # An update with a total of None would keep the previous total.
            self._bar.tasks[0].total = total
            self._bar.update(self._row, completed=done, description=stage, count=count, rate=rate, left=left)
            self._bar.start()
            if stage != self._stage:  # every stage is shown, even a short one
                self._bar.refresh()
        elif stage != self._stage:
            self._out.progress(stage)
        self._stage = stage


def _clock(duration_s: float) -> str:
    minutes, seconds = divmod(round(duration_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
