"""`classifeed`: finds the commands, runs one, and turns every way it can end into an exit code."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from classifeed_cli import commands
from classifeed_cli.exit_codes import CommandError, ExitCode, unavailable
from classifeed_cli.output import Output, print_json
from classifeed_common.embedded.process import ServerError


def build_app(command: str = "") -> typer.Typer:
    """The application with one command, or with all when there is none of that name."""
    app = typer.Typer(
        name="classifeed",
        help="From a seller's feed file to moderated, searchable offers.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_classifeed)
    modules = [module.name for module in pkgutil.iter_modules(commands.__path__)]
    for name in [command] if command in modules else modules:
        importlib.import_module(f"{commands.__name__}.{name}").register(app)
    return app


def _classifeed() -> None:
    """From a seller's feed file to moderated, searchable offers."""  # also keeps a lone command a subcommand


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; everything that it has to say is printed."""
    try:
        result = build_app(next(iter(arguments), ""))(
            args=list(arguments), prog_name="classifeed", standalone_mode=False
        )
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except TyperException as error:
        return _end(_of_usage(error), arguments)
    except CommandError as error:
        return _end(error, arguments)
    except ServerError as error:
        return _end(unavailable("SERVER_NOT_STARTED", str(error)), arguments)
    except Exception as error:
        known = _of_api(error)
        if known is None:
            raise
        return _end(known, arguments)
    return result if isinstance(result, int) else ExitCode.DONE


def main() -> NoReturn:
    """The program."""
    sys.exit(run(sys.argv[1:]))


def _of_api(error: Exception) -> CommandError | None:
    """An error of the client as one of ours; None for anything else. The client is heavy and seldom needed."""
    from classifeed_cli.api_words import words_of
    from classifeed_client.errors import ApiError, DeadlineExceeded, Unreachable

    if not isinstance(error, ApiError):
        return None
    exit_code = ExitCode.REFUSED
    if isinstance(error, Unreachable):
        exit_code = ExitCode.UNAVAILABLE
    elif isinstance(error, DeadlineExceeded):
        exit_code = ExitCode.TIME_OUT
    return CommandError(exit_code, error.reason, str(error), error.metadata, words=words_of(error))


def _of_usage(error: TyperException) -> CommandError:
    said = error.format_message().replace("Value error, ", "")
    # A command or group without arguments has printed its help, and that is all there is to say.
    return CommandError(ExitCode.USAGE, "USAGE", f"{said} (see --help)", words=None if said else "")


def _end(error: CommandError, arguments: Sequence[str]) -> int:
    if "--json" in arguments:
        print_json(error.as_document())
    elif error.words:
        Output(as_json=False).fail(f"classifeed: {error.words}")
    return error.exit_code


if __name__ == "__main__":
    main()
