"""Automatic rules: obvious violations in a text, found by lists, patterns and a small model.

A pure package: the only file that it reads is the model in the wheel. `Automatics.load(document)` builds a judge from
rules, while an older one may still serve. A service only needs `judge(text, regions, kind)`.
"""

from classifeed_cleanweb.automatics.found import LOW_SCORE, Finding, Found
from classifeed_cleanweb.automatics.judge import MAX_FINDINGS, Automatics

__all__ = ["LOW_SCORE", "MAX_FINDINGS", "Automatics", "Finding", "Found"]
