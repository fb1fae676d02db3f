"""The diagram of the suite: services, their stores, their calls, and the Kafka topics between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from tools.pictures.facts import Service

_WIDTH: Final = 1172
_ROW: Final = 122  # from one row of boxes to the next
_BOX: Final = (214, 96)
_PIPE: Final = (190, 30)
_CALLERS_A_LINE: Final = 3
_STYLE: Final = """
text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; font-size: 12.5px; }
.name { font-size: 17px; font-weight: 600; }
.small { font-size: 11.5px; fill: #59636e; }
.box { fill: #f6f8fa; stroke: #59636e; }
.pipe { fill: #fff1e5; stroke: #bc4c00; }
.person { font-weight: 600; fill: #0550ae; }
.call { stroke: #59636e; fill: none; stroke-width: 1.6; marker-end: url(#tip); }
.flow { stroke: #bc4c00; fill: none; stroke-width: 2.2; marker-end: url(#drop); }
.way { stroke: #0550ae; fill: none; stroke-width: 1.6; marker-end: url(#step); }
"""
_TIPS: Final = (("tip", "#59636e"), ("drop", "#bc4c00"), ("step", "#0550ae"))


@dataclass(frozen=True, slots=True)
class _Place:
    """Upper left corner and size of a box."""

    x: int
    y: int
    width: int
    height: int

    def side(self, name: str) -> tuple[int, int]:
        middle_x, middle_y = self.x + self.width // 2, self.y + self.height // 2
        return {
            "left": (self.x, middle_y),
            "right": (self.x + self.width, middle_y),
            "top": (middle_x, self.y),
            "bottom": (middle_x, self.y + self.height),
        }[name]


_LAST_ROW: Final = 584
_COLUMNS: Final = (96, 342, 560, 804)
# Fixed places; a service without one gets the next place below them.
_CHOSEN: Final = {
    "api": _Place(96, 20, *_BOX),
    "loader": _Place(96, 166, *_BOX),
    "processor": _Place(342, 93, *_BOX),
    "offers": _Place(804, 93, *_BOX),
    "receiver": _Place(804, 308, 214, 112),
    "indexer": _Place(560, 316, *_BOX),
    "searcher": _Place(96, 316, *_BOX),
    "moderation": _Place(804, 462, *_BOX),
    "cleanweb": _Place(560, 462, *_BOX),
    "pictures": _Place(804, 584, *_BOX),
}
_PIPES: Final = {
    "feeds.offer-requests.v1": _Place(585, 98, *_PIPE),
    "feeds.offer-results.v1": _Place(585, 154, *_PIPE),
    "index.documents.v1.offers": _Place(340, 349, *_PIPE),
}
# Topics between services of the last column: x of the line at its right, and distance from the middle of a box.
_BESIDE: Final = {
    "moderation.requests.v1": (1044, 12),
    "moderation.outcomes.v1": (1076, 12),
    "pictures.requests.v1": (1108, 34),
    "pictures.results.v1": (1140, 34),
}
_OWN_PIPE: Final = (368, 30)
# Calls with an arrow; the box of a service lists all its callers.
_CALLS: Final = {
    ("api", "loader"): ("bottom", "top"),
    ("api", "processor"): ("right", "top"),
    ("loader", "processor"): ("right", "bottom"),
    ("offers", "receiver"): ("bottom", "top"),
    ("indexer", "receiver"): ("right", "left"),
    ("moderation", "receiver"): ("top", "bottom"),
    ("moderation", "cleanweb"): ("left", "right"),
}
_PEOPLE: Final = (("shop", 68, True), ("its site", 214, True), ("buyer", 364, False))


def draw_diagram(services: Sequence[Service]) -> str:
    """Return the diagram as SVG.

    Raises:
        ValueError: this module has no place for a topic, or has one for a service, a topic or a call that does not
            exist.
    """
    _check_places(services)
    places = _place_services(services)
    height = max(place.y for place in places.values()) + 154
    lines = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" xmlns="http://www.w3.org/2000/svg" role="img" '
        'aria-label="The services of the suite, and the topics of Kafka between them">',
        f"<style>{_STYLE}</style>",
        "<defs>",
        *(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{colour}"/></marker>'
            for name, colour in _TIPS
        ),
        "</defs>",
        f'<rect width="{_WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        *_people(),
        *(line for service in services for line in _service(service, places[service.name])),
        *(line for topic in _PIPES for line in _topic(topic, services, places)),
        *(line for topic in _BESIDE for line in _topic_beside(topic, services, places)),
        *(
            line
            for service in services
            if service.between_roles
            for line in _topics_between_roles(service, places[service.name])
        ),
        *(_call(caller, callee, places) for caller, callee in _CALLS),
        *_legend(height - 22),
        "</svg>",
    ]
    return "".join(f"{line}\n" for line in lines)


def _check_places(services: Sequence[Service]) -> None:
    topics = {topic for service in services for topic in service.reads | service.writes}
    calls = {(caller, service.name) for service in services for caller in service.callers}
    if removed := set(_CHOSEN) - {service.name for service in services}:
        raise ValueError(f"the diagram has a place for services that do not exist: {sorted(removed)}")
    if differing := topics ^ (_PIPES.keys() | _BESIDE.keys()):
        raise ValueError(f"places of the diagram are not those of the topics: {sorted(differing)}")
    if missing := set(_CALLS) - calls:
        raise ValueError(f"the diagram draws calls that the policy does not have: {sorted(missing)}")


def _place_services(services: Sequence[Service]) -> dict[str, _Place]:
    """Return the place of each service: its fixed place, or the next one below the fixed places."""
    later = [service.name for service in services if service.name not in _CHOSEN]
    below = {
        name: _Place(_COLUMNS[at % len(_COLUMNS)], _LAST_ROW + (at // len(_COLUMNS) + 1) * _ROW, *_BOX)
        for at, name in enumerate(later)
    }
    return {**_CHOSEN, **below}


def _service(service: Service, place: _Place) -> Iterator[str]:
    x = place.x + 12
    yield f'<rect class="box" x="{place.x}" y="{place.y}" width="{place.width}" height="{place.height}" rx="6"/>'
    yield _text(x, place.y + 24, service.name, "name")
    yield _text(x, place.y + 44, service.owns)
    yield _text(x, place.y + 64, f"in {', '.join(service.stores) or 'its own files'}", "small")
    callers = service.callers or ("no other service",)
    for line, at in enumerate(range(0, len(callers), _CALLERS_A_LINE)):
        is_last = at + _CALLERS_A_LINE >= len(callers)
        named = f"{', '.join(callers[at : at + _CALLERS_A_LINE])}{'' if is_last else ','}"
        yield _text(x, place.y + 82 + 16 * line, named if line else f"called by {named}", "small")


def _topic(topic: str, services: Sequence[Service], places: Mapping[str, _Place]) -> Iterator[str]:
    place = _PIPES[topic]
    yield f'<rect class="pipe" x="{place.x}" y="{place.y}" width="{place.width}" height="{place.height}" rx="15"/>'
    yield _text(place.x + place.width // 2, place.y + 20, topic, "middle")
    for service in services:
        box = places[service.name]
        near, far = ("left", "right") if box.x < place.x else ("right", "left")
        y = place.side(near)[1]
        ends = [(box.side(far)[0], y), (place.side(near)[0], y)]
        if topic in service.writes:
            yield _line(ends[0], ends[1], "flow")
        if topic in service.reads:
            yield _line(ends[1], ends[0], "flow")


def _topic_beside(topic: str, services: Sequence[Service], places: Mapping[str, _Place]) -> Iterator[str]:
    x, apart = _BESIDE[topic]
    [writer] = [places[service.name] for service in services if topic in service.writes]
    [reader] = [places[service.name] for service in services if topic in service.reads]
    (start_x, start_y), (end_x, end_y) = writer.side("right"), reader.side("right")
    start_y, end_y = start_y + apart, end_y - apart  # so that the lines do not overlap
    yield f'<path class="flow" d="M{start_x} {start_y} H{x} V{end_y} H{end_x}"/>'
    middle = (start_y + end_y) // 2
    yield (
        f'<text x="{x + 14}" y="{middle}" transform="rotate(-90 {x + 14} {middle})" text-anchor="middle">'
        f"{escape(topic)}</text>"
    )


def _topics_between_roles(service: Service, box: _Place) -> Iterator[str]:
    """Draw the topics between the roles of a service as one pipe left of its box, the first with its full name."""
    place = _Place(box.x - 54 - _OWN_PIPE[0], box.side("left")[1] - _OWN_PIPE[1] // 2, *_OWN_PIPE)
    first, *others = sorted(service.between_roles)
    words = ", ".join([first, *(topic.removeprefix(f"{service.name}.") for topic in others)])
    yield f'<rect class="pipe" x="{place.x}" y="{place.y}" width="{place.width}" height="{place.height}" rx="15"/>'
    yield _text(place.x + place.width // 2, place.y + 20, words, "middle")
    (x, y), (end_x, _) = box.side("left"), place.side("right")
    yield _line((x, y - 7), (end_x, y - 7), "flow")
    yield _line((end_x, y + 7), (x, y + 7), "flow")


def _call(caller: str, callee: str, places: Mapping[str, _Place]) -> str:
    leaves, comes = _CALLS[caller, callee]
    start, end = places[caller].side(leaves), places[callee].side(comes)
    if leaves in {"left", "right"} and comes in {"top", "bottom"}:
        return f'<path class="call" d="M{start[0]} {start[1]} H{end[0]} V{end[1]}"/>'
    return _line(start, end, "call")


def _people() -> Iterator[str]:
    for name, y, is_left in _PEOPLE:
        yield _text(14, y + 4, name, "person")
        yield _line((68, y), (96, y), "way") if is_left else _line((96, y), (60, y), "way")


def _legend(y: int) -> Iterator[str]:
    for x, style, words in (
        (96, "way", "files, links, searches"),
        (342, "call", "gRPC, HTTP"),
        (480, "flow", "Kafka: messages stay until they are consumed, in order"),
    ):
        yield _line((x, y), (x + 40, y), style)
        yield _text(x + 50, y + 4, words, "small")


def _line(start: tuple[int, int], end: tuple[int, int], style: str) -> str:
    return f'<path class="{style}" d="M{start[0]} {start[1]} L{end[0]} {end[1]}"/>'


def _text(x: int, y: int, words: str, style: str = "") -> str:
    anchor = ' text-anchor="middle"' if style == "middle" else ""
    kind = f' class="{style}"' if style and not anchor else ""
    return f'<text x="{x}" y="{y}"{kind}{anchor}>{escape(words)}</text>'
