"""Appeals: their states, and the response to the author."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from classifeed_moderation.domain.subjects import Kind, Status


class AppealState(StrEnum):
    """State of an appeal."""

    OPEN = "OPEN"
    GRANTED = "GRANTED"
    REFUSED = "REFUSED"
    OBSOLETE = "OBSOLETE"


_SENTENCES: Final = {
    AppealState.OPEN: "The appeal waits for a reviewer.",
    AppealState.GRANTED: "The appeal was granted: the text is approved.",
    AppealState.REFUSED: "The appeal was refused: the text stays hidden.",
    AppealState.OBSOLETE: "The appeal ended without a decision, because the text was changed or judged again since.",
}
_CHANGE: Final = "Change the text of the offer: a changed text is judged again."


def state_of(outcome: Status | None, *, is_decidable: bool) -> AppealState:
    """Return the state of an appeal.

    Args:
        outcome: decision of a reviewer; None: there is none yet.
        is_decidable: whether the decision that the appeal is against still refuses the text.
    """
    if outcome is not None:
        return AppealState.GRANTED if outcome is Status.APPROVED else AppealState.REFUSED
    return AppealState.OPEN if is_decidable else AppealState.OBSOLETE


def response_of(state: AppealState, *, kind: Kind | None, rule: str, words: str) -> str:
    """Return the response to the author, as sentences.

    Args:
        state: state of the appeal.
        kind: kind of the text; None: the text is gone.
        rule: rule of the reviewer's decision.
        words: the reviewer's words for the author; empty: none.
    """
    sentences = [_SENTENCES[state]]
    if state is AppealState.REFUSED and not words:
        sentences.append(f"Rule: {rule}.")
    if words:
        sentences.append(words)
    if state is AppealState.REFUSED and kind is Kind.OFFER:
        sentences.append(_CHANGE)
    return " ".join(sentences)
