"""The page of benchmarks, made from `bench/results`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tools.pages.results import Result, Row, rows_of

_HEAD: Final = """# Benchmarks

`make pages` makes this page and its charts from the files of `bench/results`.

`make bench` runs every benchmark. Each one prints a table and a JSON line.

## Figures
- All services and servers run on one machine with two cores: PostgreSQL 18 with fsync, Kafka and an S3 server. Python
  is 3.11 on Linux. Clients run on the same two cores.
- **quiet**: nothing else ran. **busy**: other programs used the cores at the same time.
- **fast** and **slow** cores differ by a factor of about two. Compare figures of the same machine only. Ratios move
  less than times, because both sides run in the same minutes.
- A figure is the median of repeated measurements, or the result of a single run. The spread is the range of the
  repetitions, unless it says otherwise.
- A ratio is the figure divided by that of the compared system or state.
- Tables have the newest figure of each row. Charts also show earlier ones, in a lighter colour.
- In charts of goals, a bar begins at the goal. It extends to the right if the goal is met.

## Add a figure
Append a JSON line to the file of its subject:

```
python -m tools.pages.add_result feeds < line.json
make pages
```

The fields are those of `Result` in `tools/pages/results.py`. A line without a command is refused.
"""
_COLUMNS: Final = (
    "| row | goal | figure | ratio | spread | date | machine |\n| --- | --- | --- | --- | --- | --- | --- |\n"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A section of the page.

    Attributes:
        title: heading of the section; its anchor is the name of the subject.
        text: what is measured, in one or two sentences.
        one_unit: all figures have one unit, and the chart shows them as bars from zero.
    """

    title: str
    text: str
    one_unit: bool = False


SUBJECTS: Final[Mapping[str, Subject]] = {
    "feeds": Subject(
        "Feeds",
        "Reading a generated YML file of 0.83 KB an offer, and whole loads from the upload to the search. The result is"
        " the terminal state of the load. All offers are searchable when a search finds each of them.",
    ),
    "search": Subject(
        "Search",
        "Searches by gRPC with 20 hits a page. A p50 is for 1,000,000 documents; its goal is the time of an empty gRPC"
        " call and 1.5 times that of the engine.",
    ),
    "relevance": Subject(
        "Relevance",
        "The first five hits of 60 labelled queries over 8,831 offers of 12 real feeds.",
        one_unit=True,
    ),
    "freshness": Subject(
        "Freshness",
        "Time from the last byte of a feed of 1,000 offers to the search that returns all changed offers.",
        one_unit=True,
    ),
    "jobs": Subject(
        "Jobs",
        "The job engine with one worker process, compared with PgQueuer, Procrastinate and raw SQL in the same rounds.",
    ),
    "shares": Subject(
        "Shares",
        "A load of 3 offers while another seller loads 16 files of 60,000 offers and 12 slow links.",
    ),
    "moderation": Subject(
        "Moderation",
        "Quality and speed of the automatic rules on 2,398 texts, and the speed of moderation with a verdict service"
        " that takes 200 ms.",
    ),
    "pictures": Subject(
        "Pictures",
        "Events of picture states, downloads compared with img2dataset, and responses to clients compared with nginx.",
    ),
    "similar-pictures": Subject(
        "Similar pictures",
        "Searches for similar pictures among 1,000,000 stored ones, compared with a scan of all hashes.",
    ),
    "issues": Subject(
        "Issues",
        "Exports of a load with 1,000,000 issues. Each export runs in its own process.",
    ),
    "alone": Subject(
        "Alone",
        "Size and import time of the job engine in its own environment, compared with Procrastinate.",
    ),
    "recovery": Subject(
        "Recovery",
        "Time from a fault until the suite works again. A figure is the longest time of all runs.",
        one_unit=True,
    ),
    "tests": Subject(
        "Tests",
        "Duration of the whole run of tests. The number of tests grows from day to day.",
        one_unit=True,
    ),
}


def render() -> str:
    """Return the page."""
    return _HEAD + "".join(_section(name, subject) for name, subject in SUBJECTS.items())


def _section(name: str, subject: Subject) -> str:
    rows = rows_of(name)
    table = _COLUMNS + "".join(_table_row(row.newest) for row in rows)
    chart = f"![Chart: {subject.title}](pictures/benchmarks/{name}.svg)\n"
    return f"\n## {subject.title}\n{subject.text}\n\n{table}\n{chart}" + "".join(_lists(rows))


def _lists(rows: Sequence[Row]) -> Iterator[str]:
    newest = [row.newest for row in rows]
    missed = [line for line in newest if line.reached is not None and line.reached < 1]
    yield from _list("Missed goals", missed)
    yield from _list("Notes", [line for line in newest if line.note and line not in missed])
    commands: dict[str, list[str]] = {}
    for line in newest:
        commands.setdefault(line.command, []).append(line.row)
    if len(commands) == 1:
        yield f"\nReproduce: `{newest[0].command}`\n"
        return
    most = max(commands, key=lambda command: len(commands[command]))
    yield f"\nReproduce: `{most}`, and\n\n"
    for command, names in commands.items():
        if command != most:
            yield f"- `{command}`: {'; '.join(names)}\n"


def _list(title: str, lines: Sequence[Result]) -> Iterator[str]:
    """Yield a list of notes; rows with the same note share an item."""
    notes: dict[str, list[str]] = {}
    for line in lines:
        notes.setdefault(line.note or "", []).append(line.row)
    if notes:
        yield f"\n{title}:\n\n"
    for note, names in notes.items():
        yield f"- **{'; '.join(names)}**: {note}\n"


def _table_row(line: Result) -> str:
    goal = f"{line.aim}, {'met' if (line.reached or 0) >= 1 else '**missed**'}" if line.aim else "–"
    figure = f"{line.figure:,} {line.unit}" if line.unit != "fraction" else f"{line.figure}"
    ratio = f"{line.ratio:g} × {line.compared_with}" if line.ratio is not None else "–"
    return f"| {line.row} | {goal} | {figure} | {ratio} | {line.spread or '–'} | {line.date} | {line.machine} |\n"
