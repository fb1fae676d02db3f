"""Output of an offer's explanation for people: its stages, the one that stopped it, and the fix."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from classifeed.feeds.v1 import explanation_pb2
from classifeed.feeds.v1.explanation_pb2 import (
    EXPLANATION_STATE_DONE,
    EXPLANATION_STATE_SKIPPED,
    EXPLANATION_STATE_STOPPED,
    EXPLANATION_STATE_WAITING,
    EXPLANATION_STATE_WARNING,
    ExplanationStep,
    OfferExplanation,
)
from classifeed_cli.developer_hints import hint_of
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.wrapping import one_line, with_short_links
from classifeed_cli.views.amounts import duration_words, local_time
from classifeed_cli.views.excerpt import excerpt_lines

MARKS: Final = {
    EXPLANATION_STATE_DONE: "✓",
    EXPLANATION_STATE_WARNING: "!",
    EXPLANATION_STATE_STOPPED: "✗",
    EXPLANATION_STATE_WAITING: "…",
    EXPLANATION_STATE_SKIPPED: "–",
}
_UNKNOWN: Final = "?"
_STAGE_WIDTH: Final = len("registered")
_ELAPSED_WIDTH: Final = 9
_LEAST_ROOM: Final = 20
_EXCERPT_INDENT: Final = "    "
_QUOTED: Final = re.compile("“([^”]+)”")


def show_explanation(out: Output, explanation: OfferExplanation) -> None:
    """Print the outcome of an offer, its stages, and what to change."""
    seller_id, _, namespace, _, external_id = explanation.name.split("/", 5)[1:]
    outcome = enum_label(explanation_pb2.OfferFate.DESCRIPTOR, explanation.fate).replace("_", " ")
    out.say(f"{one_line(external_id)} of {seller_id}/{namespace}: {outcome}. {one_line(explanation.summary)}")
    _Stages(out, explanation).show()
    changes = _changes(explanation)
    if changes:
        out.say("\nWhat to change")
        for change in changes:
            out.say(f"  {change}", hang=2)


def _fault_of(step: ExplanationStep) -> str:
    """Return the longest quotation in a step's text that is in the excerpt; empty if there is none."""
    excerpt = one_line(step.excerpt)
    quoted = [one_line(each).rstrip("…") for each in _QUOTED.findall(step.text)]
    return max((each for each in quoted if each in excerpt), key=len, default="")


def _changes(explanation: OfferExplanation) -> list[str]:
    """Return the distinct suggestions: of the offer, then of its stages, then for developers."""
    changes: list[str] = []
    suggestions = (explanation.suggestion, *(step.suggestion for step in explanation.steps))
    for change in (*suggestions, *(hint_of(step.code) for step in explanation.steps)):
        words = one_line(change)
        if words and not any(words in known for known in changes):
            changes.append(words)
    return changes


class _Stages:
    """The stages, one below the other, with a column of times and the time elapsed since the file arrived."""

    def __init__(self, out: Output, explanation: OfferExplanation) -> None:
        self._out = out
        self._explanation = explanation
        times = {step.stage: local_time(step.time) for step in explanation.steps if step.HasField("time")}
        self._came = times.get(explanation_pb2.EXPLANATION_STAGE_SOURCE)
        self._has_elapsed = self._came is not None and len(times) > 1
        self._days = {time.date() for time in times.values()}
        self._clock = "%H:%M:%S" if len(self._days) == 1 else "%Y-%m-%d %H:%M:%S"
        self._clock_width = 8 if len(self._days) == 1 else 19

    def show(self) -> None:
        """Print the stages."""
        if self._days:
            of = f"Times of {next(iter(self._days))}" if len(self._days) == 1 else "Times with their days"
            self._out.say(f"{of}; + is the time since the file came" if self._has_elapsed else of)
        self._out.say("")
        for step in self._explanation.steps:
            self._show(step)

    def _show(self, step: ExplanationStep) -> None:
        mark = MARKS.get(step.state, _UNKNOWN)
        stage = enum_label(explanation_pb2.ExplanationStage.DESCRIPTOR, step.stage).lower()
        head = f"{mark} {stage:<{_STAGE_WIDTH}}  {self._time(step)}  "
        code = f" ({step.code})" if step.code and f"({step.code})" not in step.text else ""
        self._out.say(f"{head}{self._fit(step.text, len(head))}{code}".rstrip(), hang=len(head))
        place = f"line {step.line}" + (f", column {step.column}" if step.column else "") if step.line else ""
        if step.stage == explanation_pb2.EXPLANATION_STAGE_OFFER and self._explanation.duplicate_lines:
            lines = ", ".join(map(str, self._explanation.duplicate_lines))
            place = f"{place}; duplicate on line {lines}, where it is not read".removeprefix("; ")
        if place:
            self._out.say(" " * len(head) + place, hang=len(head))
        # Indented less than the text, so that there is room for the fault and its surroundings.
        for line in excerpt_lines(step.excerpt, _fault_of(step), self._room(len(_EXCERPT_INDENT))):
            self._out.say(_EXCERPT_INDENT + line)

    def _room(self, indent: int) -> int | None:
        """Return the width of a line without its indentation; None for no limit."""
        return None if self._out.edge is None else max(self._out.edge - indent, _LEAST_ROOM)

    def _fit(self, text: str, indent: int) -> str:
        """Return the text in one line, with links shortened to the column; `feed show` prints the whole link."""
        room = self._room(indent)
        return one_line(text) if room is None else with_short_links(one_line(text), room)

    def _time(self, step: ExplanationStep) -> str:
        if not step.HasField("time"):
            return " " * (self._clock_width + 1 + _ELAPSED_WIDTH)
        time = local_time(step.time)
        return f"{time.strftime(self._clock)} {self._elapsed(time):>{_ELAPSED_WIDTH}}"

    def _elapsed(self, time: datetime) -> str:
        elapsed_s = (time - self._came).total_seconds() if self._came is not None else 0.0
        return f"+{duration_words(elapsed_s)}" if elapsed_s > 0 else ""
