"""The options of all commands that call an installation."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from classifeed_cli.session import Session, with_session

NAMES = ["number", "data", "address", "as_json"]


@pytest.fixture
def sessions() -> list[tuple[int, Path | None, str | None, bool]]:
    return []


@pytest.fixture
def app(sessions: list[tuple[int, Path | None, str | None, bool]]) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @with_session
    def count(session: Session, number: int) -> None:
        """Count."""
        sessions.append((number, session.data, session.address, session.out.as_json))

    return app


def test_the_options_make_the_session(app: typer.Typer, sessions: list[object]) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["7", "--data", "here", "--address", "host:1", "--json"]).exit_code == 0
    assert runner.invoke(app, ["8"], env={"CLASSIFEED_DATA": "there", "CLASSIFEED_ADDRESS": ""}).exit_code == 0
    assert sessions == [(7, Path("here"), "host:1", True), (8, Path("there"), None, False)]


def test_the_options_stand_behind_those_of_the_command(app: typer.Typer) -> None:
    command = get_command(app)
    assert [each.name for each in command.params if each.name in NAMES] == NAMES
    assert (command.name, command.help) == ("count", "Count.")
