"""Automatic rules: what a text clearly holds, by lists, shapes and a small model.

A pure package: of files it reads the weights in the wheel, and nothing else. `Automatics.load(document)` makes a judge
of rules, while another one may still serve; `judge(text, regions, kind)` is all that a service needs of it.
"""

from classifeed_cleanweb.automatics.found import LOW_SCORE, Finding, Found
from classifeed_cleanweb.automatics.judge import MAX_FINDINGS, Automatics

__all__ = ["LOW_SCORE", "MAX_FINDINGS", "Automatics", "Finding", "Found"]
