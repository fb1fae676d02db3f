"""Shared state and helpers of the demo's steps."""

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
    """Shared state of the steps.

    Attributes:
        client: Client of the services.
        out: Output of the command.
        installation: Addresses of the services.
        layout: Folder of the installation.
        folder: Folder for files that the steps write.
        pictures: Base URL of the pictures.
        found_id: Id of an offer that a search has found.
        rejected_id: Id of an offer that was rejected because of an error in the file.
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
    """A step of the demo.

    Attributes:
        title: Title, from the view of a seller or a buyer.
        services: Services that take part, with their functions, in a line or two.
        play: Function that runs the step, and returns its part of the JSON document.
    """

    title: str
    services: str
    play: Callable[[Story], dict[str, Any]]


def load(story: Story, file: Path, namespace: str) -> task_pb2.Task:
    """Load a file and show its outcome.

    Raises:
        CommandError: The file was not loaded.
    """
    task = load_file(story.client, story.out, file, seller_id=SELLER, namespace=namespace)
    show_loaded(story.out, task)
    return task


def show_loaded(out: Output, task: task_pb2.Task) -> None:
    """Show a load, below an empty line.

    Raises:
        CommandError: The load did not succeed.
    """
    out.say("")
    show_task(out, task)
    check_loaded(task)


def check_loaded(task: task_pb2.Task) -> None:
    """Check that a load succeeded.

    Raises:
        CommandError: The load did not succeed.
    """
    if task.status != task_pb2.TASK_STATUS_SUCCEEDED:
        raise failed("The price list was not loaded; see the error above.")


def failed(message: str) -> CommandError:
    """Return the error of a step with an unexpected outcome."""
    return refused("DEMO_FAILED", message)
