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
from classifeed_cli.terminal.table import Table
from classifeed_cli.views.amounts import time_words


def show_comparisons(out: Output, comparisons: Sequence[Comparison]) -> None:
    """Print a line for each comparison, and below them the held ones, which need a decision."""
    out.rows(COMPARISONS, comparisons)
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


COMPARISONS: Final = Table[Comparison](
    {
        "number": lambda each: each.comparison_id,
        "state": _state,
        "offers as of": lambda each: (
            time_words(each.snapshot_time) if each.HasField("snapshot_time") else "not yet known"
        ),
        "compared": lambda each: f"{each.compared:,}",
        "unused": lambda each: f"{each.unused:,}{_share_words(each)}",
    },
    empty="no comparison yet: the first one runs within a day of the service's first start",
)
