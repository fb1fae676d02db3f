"""The automatic part of the verdict service: turns a text into findings and a score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from classifeed_cleanweb.automatics.addresses.contacts import Contacts
from classifeed_cleanweb.automatics.addresses.links import Links
from classifeed_cleanweb.automatics.alphabet import fold
from classifeed_cleanweb.automatics.forms import masked
from classifeed_cleanweb.automatics.found import Finding, Found
from classifeed_cleanweb.automatics.model import Model, packaged_model
from classifeed_cleanweb.automatics.rules_file import parse_rules
from classifeed_cleanweb.automatics.spans import Cover
from classifeed_cleanweb.automatics.terms import Hit, Matcher, Role, Term
from classifeed_cleanweb.automatics.views import read

MAX_FINDINGS: Final = 100
"""Maximum number of findings of one text."""
# Maximum number of word findings before allowed ones are removed.
_MOST_KEPT: Final = 1_000
_LISTED: Final = (
    ("words", "allow", Role.ALLOW), ("links", "dots", Role.DOTS), ("contacts", "messengers", Role.MESSENGERS),
    ("contacts", "at", Role.AT), ("contacts", "digits", Role.DIGITS),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """Names of a rule's findings, and the texts that it applies to.

    Attributes:
        verdict: name of the verdict.
        rule: id of the rule.
        kinds: kinds of subjects; empty for all.
        regions: regions; empty for all.
    """

    verdict: str
    rule: str
    kinds: frozenset[str]
    regions: frozenset[int]

    def is_for(self, regions: Sequence[int], kind: str) -> bool:
        """Return whether the rule applies to a text of these regions and this kind."""
        return (not self.kinds or kind in self.kinds) and (not self.regions or not self.regions.isdisjoint(regions))


class Automatics:
    """Compiled automatic rules. Immutable: new rules are a new object. Threads may share it."""

    def __init__(self, parsed: Sequence[Mapping[str, Any]], model: Model) -> None:
        """Build it from rules that `parse_rules` has checked."""
        self._model = model
        self._entries: list[Entry] = []
        self._contacts: list[Contacts] = []
        terms: dict[Term, None] = {}
        links = [content for content in parsed if content["kind"] == "links"]
        self._links = [(Entry(content["verdict"], "links", *_whom(content)), Links(content)) for content in links]
        for content in parsed:
            for kind, key, role in _LISTED:
                if content["kind"] == kind:
                    terms |= dict.fromkeys(Term(fold(form), "word", role) for form in content.get(key, ()))
            if content["kind"] == "words":
                terms |= dict.fromkeys(self._terms_of(content))
            elif content["kind"] == "contacts":
                entry = Entry(content["verdict"], "contacts", *_whom(content))
                self._contacts.append(
                    Contacts(entry.verdict, content, [found for _, found in self._links], entry.is_for)
                )
        self._matcher = Matcher(list(terms))
        self.size = len(terms)

    @classmethod
    def load(cls, document: Mapping[str, Any], model: Model | None = None) -> Automatics:
        """Return the automatics of a rules document; called by a Snapshot.

        Args:
            document: rules that have passed their schema.
            model: weights; None: the model in the wheel.

        Raises:
            DocumentFault: the rules break a constraint that the schema cannot express; includes the path.
        """
        return cls(parse_rules(document), model or packaged_model())

    def judge(self, text: str, regions: Sequence[int], kind: str) -> Found:
        """Return the findings of the rules in a text, and the model's score. Runs in time linear in the text's length.

        Args:
            text: any text.
            regions: regions of the text, up to the country.
            kind: kind of the subject, such as `offer`.
        """
        reading = read(text)
        hits: defaultdict[int, list[Hit]] = defaultdict(list)
        found: set[tuple[str, str, int, int]] = set()
        for hit in self._matcher.find(text, reading):
            number = hit.term.entry
            if number < 0:
                hits[number].append(hit)
                continue
            entry = self._entries[number]
            if len(found) < _MOST_KEPT and entry.is_for(regions, kind):
                found.add((entry.verdict, entry.rule, hit.start, hit.end))
        if found and Role.ALLOW in hits:
            allowed = Cover((hit.start, hit.end) for hit in hits[Role.ALLOW])
            found = {one for one in found if not allowed.has(one[2], one[3])}
        for contacts in self._contacts:
            if contacts.is_for(regions, kind):
                found.update(contacts.find(text, reading.shapes, hits))
        for entry, links in self._links:
            if entry.is_for(regions, kind):
                spans = [(entry.verdict, "links.written", *span) for span in links.written(text)]
                if Role.DOTS in hits:
                    dots = [hit.start for hit in hits[Role.DOTS]]
                    spans += [(entry.verdict, "links.spelled", *span) for span in links.spelled(text, dots)]
                if spans:
                    reached = Cover((start, end) for _, rule, start, end in found if rule.startswith("contacts."))
                    found.update(span for span in spans if not reached.has(span[2], span[3]))
        return Found(_apart(text, found) if found else (), self._model.score(reading.classes))

    def _terms_of(self, content: Mapping[str, Any]) -> Iterator[Term]:
        for declared in content["entries"]:
            number = len(self._entries)
            whom = {**{key: content[key] for key in ("kinds", "regions") if key in content}, **declared}
            self._entries.append(Entry(content["verdict"], declared["rule"], *_whom(whom)))
            for form, spelling in zip(declared["forms"], declared["spellings"], strict=True):
                yield Term(form, declared.get("match", "word"), number, spelling if declared.get("exact") else "")
                if declared.get("masked"):
                    yield from (Term(hidden, declared.get("match", "word"), number) for hidden in masked(form))


def _whom(declared: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[int]]:
    return frozenset(declared.get("kinds", ())), frozenset(declared.get("regions", ()))


def _apart(text: str, found: Iterable[tuple[str, str, int, int]]) -> tuple[Finding, ...]:
    """Return findings by place; of overlapping ones of a verdict, keep the first, or the longest at its start."""
    ends: dict[str, int] = {}
    kept: list[Finding] = []
    for verdict, rule, start, end in _longest_first(found):
        if start >= ends.get(verdict, -1):
            ends[verdict] = end
            kept.append(Finding(verdict, rule, start, end, text[start:end]))
    return tuple(kept[:MAX_FINDINGS])


def _longest_first(found: Iterable[tuple[str, str, int, int]]) -> list[tuple[str, str, int, int]]:
    return sorted(found, key=lambda one: (one[2], -one[3], one[0], one[1]))
