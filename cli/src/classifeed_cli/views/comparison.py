"""Output of comparisons of stored pictures with those that offers use, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed.pictures.v1.picture_service_pb2 import (
    COMPARISON_STATE_HELD,
    COMPARISON_STATE_RUNNING,
    Comparison,
    ComparisonState,
)
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.amounts import time_words

_EXPORTING: Final = "not yet known"


def show_comparisons(out: Output, comparisons: Sequence[Comparison]) -> None:
    """Print a line for each comparison, and below them the held ones, which need a decision."""
    if not comparisons:
        out.say("no comparison yet: the first one runs within a day of the service's first start")
        return
    out.table(
        ("number", "state", "offers as of", "compared", "unused"),
        (
            (
                str(each.comparison_id),
                _state(each),
                time_words(each.snapshot_time) if each.HasField("snapshot_time") else _EXPORTING,
                f"{each.compared:,}",
                f"{each.unused:,}{_share_words(each)}",
            )
            for each in comparisons
        ),
    )
    for each in comparisons:
        if each.state == COMPARISON_STATE_HELD:
            show_comparison(out, each)


def show_comparison(out: Output, comparison: Comparison) -> None:
    """Print the state of a comparison, and the next step."""
    head = f"comparison {comparison.comparison_id}: {_state(comparison)}, no offer uses {count_words(comparison)}"
    if comparison.state == COMPARISON_STATE_HELD:
        out.say(
            f"{head}. So many pictures are only deleted after confirmation. If the offers are right, confirm it: "
            f"`classifeed picture confirm {comparison.comparison_id}`. If they are not, do nothing: the next "
            "comparison replaces it.",
            hang=2,
        )
    elif comparison.state == COMPARISON_STATE_RUNNING:
        out.say(f"{head}; `classifeed picture comparisons` shows when it is done", hang=2)
    else:
        out.say(head, hang=2)


def count_words(comparison: Comparison) -> str:
    """Return the number of unused pictures, of the number compared."""
    return f"{comparison.unused:,} of {comparison.compared:,} pictures"


def _state(comparison: Comparison) -> str:
    return enum_label(ComparisonState.DESCRIPTOR, comparison.state).lower()


def _share_words(comparison: Comparison) -> str:
    return f" ({comparison.unused / comparison.compared:.0%})" if comparison.compared else ""
