"""What the steps of the demo have in common: what they work with, and how a load is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from classifeed.feeds.v1 import task_pb2
from classifeed_cli.commands.feed.loading import load_file
from classifeed_cli.exit_codes import CommandError, refused
from classifeed_cli.platform.installation import Installation
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.task import show_task
from classifeed_client import Client

SELLER: Final = "home-and-garden"
SETTLE_TIMEOUT_S: Final = 120


@dataclass
class Story:
    """What the steps work with, and what earlier ones leave for later ones.

    Attributes:
        client: calls the services.
        out: where to.
        installation: where the services are.
        layout: the folder of the installation.
        folder: for files that the steps write.
        pictures: how the links of the pictures begin.
        found_id: an offer that a search has found.
        rejected_id: an offer that was rejected for what its file says of it.
    """

    client: Client
    out: Output
    installation: Installation
    layout: Layout
    folder: Path
    pictures: str = ""
    found_id: str = ""
    rejected_id: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        title: what a seller or a buyer sees.
        services: which services do it, and what for, in a line or two.
        play: does it, and returns its part of the JSON document.
    """

    title: str
    services: str
    play: Callable[[Story], dict[str, Any]]


def load(story: Story, file: Path, namespace: str) -> task_pb2.Task:
    """Load a file and show its outcome.

    Raises:
        CommandError: it was not loaded.
    """
    task = load_file(story.client, story.out, file, seller_id=SELLER, namespace=namespace)
    show_loaded(story.out, task)
    return task


def show_loaded(out: Output, task: task_pb2.Task) -> None:
    """Show a load, below an empty line.

    Raises:
        CommandError: it did not succeed.
    """
    out.say("")
    show_task(out, task)
    check_loaded(task)


def check_loaded(task: task_pb2.Task) -> None:
    """Pass when a load succeeded.

    Raises:
        CommandError: it did not.
    """
    if task.status != task_pb2.TASK_STATUS_SUCCEEDED:
        raise failed("The price list was not loaded; see the error above.")


def failed(message: str) -> CommandError:
    """Return the error of a step that did not show what it should."""
    return refused("DEMO_FAILED", message)
