"""`classifeed status`: what runs, where, since how many restarts."""

from __future__ import annotations

import asyncio
from typing import Any

import typer

from classifeed_cli.options import DataOption, data_folder
from classifeed_cli.output import JsonOption, Output


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show the running installation; exit code 3 when none runs in the folder."""
    from classifeed_cli.platform.description import describe_status, read_running
    from classifeed_cli.platform.installation import not_running
    from classifeed_cli.platform.layout import Layout

    layout = Layout(data_folder(data))
    document = read_running(layout)
    if document is None:
        raise not_running(layout)
    print_status(Output(as_json), asyncio.run(describe_status(document)))


def print_status(output: Output, document: dict[str, Any]) -> None:
    """Print the document of `status`, for programs or for people."""
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
    addresses = {"kafka": document["kafka"], "s3": (document["s3"] or {}).get("endpoint")}
    dsn = next(iter(document["postgres"].values()), "")
    addresses["postgres"] = dsn.rpartition("@")[2].partition("/")[0]
    parts = [
        (name, row["state"], addresses.get(name), "", row["pid"], row["restarts"])
        for name, row in document["parts"].items()
    ]
    output.table(("name", "state", "address", "http", "pid", "restarts"), [*parts, *services])
    if not output.as_json:
        waiting = [name for name, row in document["services"].items() if row["state"] != "SERVING"]
        state = "ready" if document["ready"] else f"not ready: {', '.join(waiting) or document['phase']}"
        for name, row in document["services"].items():
            for problem in row["problems"]:
                output.say(f"{name}: {problem}")
        versions = sorted({row["version"] for row in document["services"].values()})
        output.say(f"{state}; version {', '.join(versions)}" if versions else state)


def _pid(pids: Any) -> str:
    return ", ".join(str(pid) for pid in pids)
