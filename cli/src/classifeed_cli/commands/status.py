"""`classifeed status`: running parts and services, their addresses, and their problems."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import typer

from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.options import DataOption, data_folder
from classifeed_cli.terminal.output import JsonOption, Output


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(data: DataOption = None, as_json: JsonOption = False) -> int:
    """Show running services, and their problems with times. Exit code 1 if there is a problem, 3 if nothing runs."""
    from classifeed_cli.platform.installation import not_running
    from classifeed_cli.platform.planning.layout import Layout
    from classifeed_cli.platform.supervision.description import describe_status, read_running

    layout = Layout(data_folder(data))
    document = read_running(layout)
    if document is None:
        raise not_running(layout)
    described = asyncio.run(describe_status(document))
    print_status(Output(as_json), described)
    return ExitCode.DONE if described["healthy"] else ExitCode.REFUSED


def print_status(output: Output, document: dict[str, Any]) -> None:
    """Print the document of `status`, as JSON or for people."""
    from classifeed_cli.platform.supervision.description import rows_of

    output.document(document)
    services = [
        (
            name,
            row["state"],
            row["grpc"],
            row["http"].removeprefix("http://"),
            _pid(row["pids"].values()),
            row["restarts"],
        )
        for name, row in document["services"].items()
    ]
    parts = [
        (name, row["state"], row["address"], "", row["pid"], row["restarts"]) for name, row in document["parts"].items()
    ]
    output.table(("name", "state", "address", "http", "pid", "restarts"), [*parts, *services])
    for name, row in rows_of(document):
        _print_problems(output, name, row)
    if not output.as_json:
        unwell = [name for name, row in rows_of(document) if row["problems"]]
        versions = sorted({row["version"] for row in document["services"].values()})
        state = "ready" if document["ready"] else document["phase"] if document["phase"] != "ready" else "not ready"
        state += f": see {', '.join(unwell)}" if unwell else ""
        output.say(f"{state}; version {', '.join(versions)}" if versions else state)


def _print_problems(output: Output, name: str, row: Mapping[str, Any]) -> None:
    from classifeed_cli.platform.supervision.description import since_words

    if not row["problems"]:
        return
    hang = len(name) + 2
    for number, (problem, fix) in enumerate(zip(row["problems"], row["fixes"], strict=True)):
        text = problem.rstrip(".") if number else _dated(problem, since_words(row))
        output.say(f"{name}: {text}", hang=hang)
        for line in fix.splitlines():
            output.say(f"{'':<{hang}}{line}", hang=hang)
    output.say(f"{'':<{hang}}log: {row['log']}", hang=hang)


def _dated(problem: str, since: str) -> str:
    """Return a problem with its time. If the problem is a sentence, the time is a separate sentence."""
    return f"{problem} {since.capitalize()}" if problem.endswith(".") else f"{problem}, {since}"


def _pid(pids: Any) -> str:
    return ", ".join(str(pid) for pid in pids)
