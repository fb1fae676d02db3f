"""Findings of the automatic rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOW_SCORE: Final = 0.3
"""A text without findings and with a score below this resembles clean texts."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A piece of a text that matches a rule.

    Attributes:
        verdict_name: name of the verdict, such as `text_auto_spam`.
        rule: id of the rule.
        start: start of the piece in the original text, in code points.
        end: end of the piece, in code points, exclusive.
        excerpt: text of the piece.
    """

    verdict_name: str
    rule: str
    start: int
    end: int
    excerpt: str


@dataclass(frozen=True, slots=True)
class Found:
    """All findings and the score of a text.

    Attributes:
        findings: findings by place; no two of the same verdict overlap.
        score: similarity to bad texts by the model, in [0, 1], independent of a verdict.
    """

    findings: tuple[Finding, ...]
    score: float
