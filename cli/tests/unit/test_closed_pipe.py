"""`classifeed … | head`: the command ends quietly when its reader closes the pipe."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TextIO
from unittest.mock import patch

import pytest

from classifeed_cli.main import run


@contextmanager
def closed_pipe() -> Iterator[TextIO]:
    """Replace stdout by a pipe that is closed at the reading end."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stdout, patch.object(sys, "stdout", stdout):
        yield stdout


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), ("jobs", "--help"), ("formats",), ("feed", "show", "--seller", "a b", "--json")],
    ids=["a line", "help", "help of a group", "usage", "a document"],
)
def test_ends_with_141_and_no_word(arguments: tuple[str, ...]) -> None:
    with closed_pipe() as pipe, patch.object(sys, "stderr", pipe):
        assert run(arguments) == 141
        pipe.write("whatever Python flushes at its end")
        pipe.flush()


def test_errors_of_others_stay_what_they_are() -> None:
    with closed_pipe(), patch.object(sys, "stderr", io.StringIO()):
        assert run(("feed", "show", "--seller", "a b")) == 1, "nothing was to be written on stdout"


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"classifeed {version('classifeed-cli')}\n"
