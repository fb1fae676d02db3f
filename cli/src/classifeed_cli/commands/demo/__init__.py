"""`classifeed demo`: shows the main function, from a file to a search, on a separate suite."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from classifeed_cli.commands.demo.pictures import serve_pictures
from classifeed_cli.commands.demo.steps import STEPS
from classifeed_cli.commands.demo.story import Story
from classifeed_cli.commands.demo.suite import running_suite
from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.terminal.interruption import Interruption
from classifeed_cli.terminal.output import JsonOption, Output


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    timeout: Annotated[float, typer.Option(min=1, help="Maximum time to start, in seconds.")] = 150,
    as_json: JsonOption = False,
) -> int:
    """Start the whole suite, load price lists, kill a service in the middle of 20,000 offers, count them, and stop."""
    out = Output(as_json)
    started = time.monotonic()
    with (
        Interruption("the demo stops and leaves nothing running"),
        tempfile.TemporaryDirectory() as folder,
        running_suite(out, timeout) as (installation, layout),
        installation.client() as client,
    ):
        document = play(Story(client, out, installation, layout, Path(folder)))
    out.document(document)
    out.say(f"\nDone in {time.monotonic() - started:.0f} s, and nothing is left running.")
    out.say("To continue with your own suite:")
    out.say("  make up")
    out.say("  classifeed feed upload FILE --seller NAME")
    return ExitCode.DONE


def play(story: Story) -> dict[str, Any]:
    """Run all steps and return their JSON document.

    Raises:
        CommandError: A step had an unexpected outcome.
    """
    document: dict[str, Any] = {}
    with serve_pictures() as story.pictures:
        for number, step in enumerate(STEPS, start=1):
            story.out.say(f"\n{number}. {step.title}", style="bold")
            story.out.say(f"   {step.services}", style="dim")
            document |= step.play(story)
    return document
