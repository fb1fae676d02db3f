"""Precision and recall by category on a labelled set, with wrongly judged texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from bench.moderation.labelled.make import FOLDER
from classifeed_cleanweb.automatics import LOW_SCORE, Automatics

CATEGORIES: Final = {
    "obscene": "text_auto_obscene", "insult": "text_auto_insult", "threat": "text_auto_light_threat",
    "spam": "text_auto_spam", "contacts": "text_auto_contacts", "links": "text_auto_links", "ad": "text_auto_ad",
}  # fmt: skip
_BY_VERDICT: Final = {verdict: category for category, verdict in CATEGORIES.items()}
REGIONS: Final = {"tr": (983,), "ru": (225,), "en": (225,)}


@dataclass
class Quality:
    """Counts of a judged labelled set.

    Attributes:
        right: findings that the labels have, by category.
        wrong: findings that the labels lack, by category.
        missed: labels without a finding, by category.
        placed: found words, by whether the finding is exactly the labelled word.
        passed: texts that `auto_pass` would approve, by whether they are clean.
        texts: all texts, by whether they are clean.
        by_way: found and all labelled words, by the way of hiding.
        examples: a line for each text that was judged wrongly.
    """

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    placed: Counter[bool] = field(default_factory=Counter)
    passed: Counter[bool] = field(default_factory=Counter)
    texts: Counter[bool] = field(default_factory=Counter)
    by_way: dict[str, Counter[bool]] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    def rates(self, category: str) -> tuple[float, float]:
        """Return precision and recall."""
        right = self.right[category]
        return right / max(1, right + self.wrong[category]), right / max(1, right + self.missed[category])


def labelled(name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a set."""
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def measure(automatics: Automatics, name: str) -> Quality:
    """Judge a set by the automatic rules and return the counts."""
    quality = Quality()
    for row in labelled(name):
        found = automatics.judge(row["text"], REGIONS[row["lang"]], "offer")
        seen, labels = {_BY_VERDICT[one.verdict_name] for one in found.findings}, set(row["labels"])
        quality.right.update(seen & labels)
        quality.wrong.update(seen - labels)
        quality.missed.update(labels - seen)
        is_clean = not labels
        quality.texts[is_clean] += 1
        quality.passed[is_clean] += not found.findings and found.score < LOW_SCORE
        if labels:
            quality.by_way.setdefault(row["how"], Counter())[labels <= seen] += 1
        if labels & seen & {"obscene", "insult"}:
            spans = {(one.start, one.end) for one in found.findings if _BY_VERDICT[one.verdict_name] in labels}
            quality.placed[tuple(row["span"]) in spans] += 1
        for what, categories in (("missed", labels - seen), ("wrong", seen - labels)):
            rules = ", ".join(f"{one.rule} `{one.excerpt}`" for one in found.findings)
            quality.examples += [
                f"{what:<6} {one:<8} {row['how']:<9} {row['text']!r}  {rules}" for one in sorted(categories)
            ]
    return quality
