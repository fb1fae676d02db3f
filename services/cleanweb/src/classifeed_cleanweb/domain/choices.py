"""Verdicts that reviewers may choose, in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Choice(NamedTuple):
    """A verdict for people: its label, and its meaning in one line."""

    label: str
    meaning: str


CHOICES: Final[Mapping[str, Choice]] = {
    "text_toloka_obscene": Choice("Obscene", "swear words, also masked or misspelt; sexual words"),
    "text_toloka_insult": Choice("Insult", "contempt for a person, a shop or a group of people"),
    "text_toloka_light_threat": Choice("Threat", "harm that is threatened, wished or called for"),
    "text_toloka_spam": Choice("Spam", "repeated, meaningless or sent to everybody"),
    "text_toloka_contacts": Choice("Contacts", "a phone number, a mail address, a name in a messenger"),
    "text_toloka_links": Choice("Link", "an address of a site, also spelt out or broken up"),
    "text_toloka_ad": Choice("Advertising", "praise of other goods or of another shop"),
    "road_accident": Choice("Accident", "a crash, or cars standing after one"),
    "police": Choice("Police", "a patrol or a checkpoint"),
    "speed_control": Choice("Speed camera", "a camera or a radar that measures speed"),
    "reconstruction": Choice("Road works", "repairs, closed lanes, machines on the road"),
    "closed": Choice("Closed", "the road cannot be passed"),
    "request": Choice("Question", "a question or a request to other drivers"),
    "nonroad": Choice("Not about the road", "any other subject"),
}


def choice_of(verdict: str) -> Choice:
    """Return the words of a verdict; without words, its name."""
    return CHOICES.get(verdict, Choice(verdict, ""))
