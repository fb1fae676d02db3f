"""Projects of reviewers: their texts and their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

TURKEY: Final = 983  # id of the country among the regions of a request

_VIOLATIONS: Final = (
    "text_toloka_obscene",
    "text_toloka_insult",
    "text_toloka_light_threat",
    "text_toloka_spam",
    "text_toloka_contacts",
    "text_toloka_links",
    "text_toloka_ad",
)
_ROAD: Final = ("road_accident", "police", "speed_control", "reconstruction", "closed", "request", "nonroad")
_VIOLATIONS_TEXT: Final = (
    "Read the text as if it were on a public page. Choose every violation that it has, and nothing if it has none. "
    "Quotations and jokes count by their content; names of places and brands do not."
)
_ROAD_TEXT: Final = (
    "Decide what the text reports about the road. Choose every event that it names as happening there now; `request` "
    "for a "
    "question or a plea, `nonroad` where it is about something else."
)


@dataclass(frozen=True, slots=True)
class Project:
    """A project of reviewers.

    Attributes:
        title: title for people.
        choices: verdicts that reviewers may choose.
        instructions: short instructions; the full page of instructions is a separate file.
    """

    name: str
    title: str
    choices: tuple[str, ...]
    instructions: str


PROJECTS: Final = {
    project.name: project
    for project in (
        Project("common_toloka", "Violations, all countries but Turkey", _VIOLATIONS, _VIOLATIONS_TEXT),
        Project("common_tur_toloka", "Violations, Turkey", _VIOLATIONS, _VIOLATIONS_TEXT),
        Project("custom_map_talks_toloka", "On the road, all countries but Turkey", _ROAD, _ROAD_TEXT),
        Project("custom_map_talks_tur_toloka_new", "On the road, Turkey", _ROAD, _ROAD_TEXT),
    )
}


def kind_of(key: str) -> str:
    """Return the kind of a text by its key: offer, comment or point."""
    if key.startswith("offer/"):
        return "offer"
    return "comment" if "/" in key else "point"


def projects_of(kind: str, region_ids: Sequence[int]) -> tuple[str, ...]:
    """Return the projects of a text: violations, and the road for all kinds but offers; separate ones for Turkey."""
    is_turkish = TURKEY in region_ids
    projects = ["common_tur_toloka" if is_turkish else "common_toloka"]
    if kind != "offer":
        projects.append("custom_map_talks_tur_toloka_new" if is_turkish else "custom_map_talks_toloka")
    return tuple(projects)


def agree(opinions: Sequence[frozenset[str]]) -> frozenset[str] | None:
    """Return the agreed verdicts, or None: those of two equal opinions, or those that two of three share."""
    for number, opinion in enumerate(opinions):
        if opinion in opinions[:number]:
            return opinion
    if len(opinions) < 3:
        return None
    named = [verdict for opinion in opinions for verdict in opinion]
    return frozenset(verdict for verdict in named if named.count(verdict) > 1)
