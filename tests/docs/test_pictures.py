"""The pictures of the README are up to date with the recording and the suite."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tools.pictures import DIAGRAM, RECORDING, TERMINAL
from tools.pictures.diagram import draw_diagram
from tools.pictures.facts import Service, facts_of
from tools.pictures.recording import COLUMNS, steps_of
from tools.pictures.terminal import draw_terminal

from classifeed_cli.commands.demo.steps import STEPS
from classifeed_cli.platform.planning.service_table import ServiceTable
from tests.docs.pages import ROOT

_SVG = "{http://www.w3.org/2000/svg}"


def texts_of(picture: Path) -> list[str]:
    return ["".join(text.itertext()).replace("\xa0", " ") for text in ET.parse(picture).getroot().iter(f"{_SVG}text")]


def test_the_diagram_is_that_of_the_suite_as_it_is() -> None:
    assert DIAGRAM.read_text("utf-8") == draw_diagram(facts_of()), "python -m tools.pictures"
    shown = texts_of(DIAGRAM)
    table = ServiceTable.load()
    assert set(table.services) <= set(shown)
    assert {topic for topic in table.topics if topic in shown} == {
        "feeds.offer-requests.v1", "feeds.offer-results.v1", "index.documents.v1.offers", "moderation.requests.v1",
        "moderation.outcomes.v1", "pictures.requests.v1", "pictures.results.v1"
    }  # fmt: skip
    assert "pictures.copies.v1, downloads.v1, events.v1, loads.v1" in shown


def test_the_facts_are_those_of_the_sources() -> None:
    facts = {service.name: service for service in facts_of()}
    assert facts["processor"].writes == {"feeds.offer-requests.v1"}
    assert facts["processor"].reads == {"feeds.offer-results.v1"}
    assert facts["offers"].reads == {"feeds.offer-requests.v1", "moderation.outcomes.v1", "pictures.results.v1"}
    assert facts["offers"].writes == {"feeds.offer-results.v1", "moderation.requests.v1", "pictures.requests.v1"}
    assert facts["pictures"].reads == {"pictures.requests.v1"}
    assert facts["pictures"].writes == {"pictures.results.v1"}
    names = ("copies", "downloads", "events", "loads")
    assert facts["pictures"].between_roles == {f"pictures.{name}.v1" for name in names}
    assert facts["moderation"].reads == {"moderation.requests.v1"}
    assert facts["moderation"].writes == {"moderation.outcomes.v1"}
    assert facts["indexer"].writes == facts["searcher"].reads == {"index.documents.v1.offers"}
    assert facts["receiver"].callers == ("offers", "indexer", "searcher", "moderation")
    assert facts["receiver"].stores == ("PostgreSQL",)


@pytest.mark.parametrize(
    "changes",
    [{"name": "prices"}, {"reads": frozenset({"points.changed.v1"})}, {"callers": ()}],
    ids=("a removed service", "a new topic", "a removed call"),
)
def test_what_has_no_place_in_the_diagram_is_not_left_out(changes: dict[str, object]) -> None:
    def changed(service: Service) -> Service:
        return replace(service, **changes) if service.name == "receiver" else service  # type: ignore[arg-type]

    with pytest.raises(ValueError, match="the diagram"):
        draw_diagram([changed(service) for service in facts_of()])


def test_a_new_service_gets_a_place_below_the_others() -> None:
    facts = facts_of()
    new = [Service(name, "", (), (), frozenset(), frozenset()) for name in ("prices", "stock")]
    boxes = [
        (int(box.get("x", "")), int(box.get("y", "")))
        for box in ET.fromstring(draw_diagram([*facts, *new])).iter(f"{_SVG}rect")
        if box.get("class") == "box"
    ]
    assert len(set(boxes)) == len(facts) + 2
    assert min(y for _, y in boxes[-2:]) >= max(y for _, y in boxes[:-2])


def test_the_terminal_is_that_of_the_recording() -> None:
    recording = RECORDING.read_text("utf-8")
    assert TERMINAL.read_text("utf-8") == draw_terminal(recording), "python -m tools.pictures"
    steps = steps_of(recording)
    assert len(steps) == len(STEPS), "make pictures"
    shown = texts_of(TERMINAL)
    for step in (STEPS[0], STEPS[-1]):
        assert any(step.title in text for text in shown)
    assert max(len(line) for line in "".join(shown).splitlines()) <= COLUMNS


@pytest.mark.parametrize("picture", [DIAGRAM, TERMINAL], ids=lambda picture: picture.name)
def test_a_picture_is_whole_in_itself(picture: Path) -> None:
    text = picture.read_text("utf-8")
    ET.fromstring(text)
    assert "://" not in text.replace("http://www.w3.org/2000/svg", ""), "the picture loads nothing from other servers"
    assert "<script" not in text
    assert f"(docs/pictures/{picture.name})" in (ROOT / "README.md").read_text("utf-8")
