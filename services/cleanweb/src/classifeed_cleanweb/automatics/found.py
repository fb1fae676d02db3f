"""What the automatics find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOW_SCORE: Final = 0.3
"""A text without findings and a score below this is like clean ones."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A piece of a text that a rule is about.

    Attributes:
        verdict_name: name of the verdict, such as `text_auto_spam`.
        rule: id of the rule.
        start: where the piece begins in the original text, in code points.
        end: where it ends, in code points, exclusive.
        excerpt: the piece itself.
    """

    verdict_name: str
    rule: str
    start: int
    end: int
    excerpt: str


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that was found in a text.

    Attributes:
        findings: by place; none overlaps another of the same verdict.
        score: how much the text is like a bad one, in [0, 1], by the model; says nothing of which verdict.
    """

    findings: tuple[Finding, ...]
    score: float
