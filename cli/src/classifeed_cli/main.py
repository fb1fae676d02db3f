"""`classifeed`: finds and runs a command, and maps its outcome to an exit code."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from typing import Annotated, Final, NoReturn, TextIO

import typer
from typer.exceptions import TyperException

from classifeed_cli import commands
from classifeed_cli.examples import add_examples
from classifeed_cli.exit_codes import CommandError, ExitCode, unavailable
from classifeed_cli.terminal.output import Output, print_json
from classifeed_devkit.embedded.process import ServerError

# Options whose value is optional, which typer does not support.
_VALUE_LEFT_OUT: Final = {"--fail-on-rejected": "--fail-on-rejected=0%"}


def build_app(command: str = "") -> typer.Typer:
    """Return the application with one command, or with all commands if there is none of that name."""
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
    add_examples(app)
    return app


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        Output(as_json=False).say(f"classifeed {version('classifeed-cli')}")
        raise typer.Exit


def _classifeed(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    # The callback also keeps an only command a subcommand.
    """From a seller's feed file to moderated, searchable offers."""


def run(arguments: Sequence[str]) -> int:
    """Run a command, print its output and errors, and return its exit code.

    If the reader closes the output early (`| head`), the command ends without a message.
    """
    try:
        return _run(arguments)
    except BrokenPipeError:
        return _closed()
    except SystemExit as ended:  # rich and typer convert a broken pipe
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        return _closed()


def _run(arguments: Sequence[str]) -> int:
    try:
        result = build_app(next(iter(arguments), ""))(
            args=[_VALUE_LEFT_OUT.get(each, each) for each in arguments], prog_name="classifeed", standalone_mode=False
        )
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except TyperException as error:
        return _end(_of_usage(error), arguments)
    except CommandError as error:
        return _end(error, arguments)
    except UnicodeEncodeError as error:
        return _end(_of_text(error), arguments)
    except ServerError as error:
        return _end(unavailable("SERVER_NOT_STARTED", str(error)), arguments)
    except Exception as error:
        known = _of_api(error)
        if known is None:
            raise
        return _end(known, arguments)
    return result if isinstance(result, int) else ExitCode.DONE


def _streams() -> list[TextIO]:
    """Return stdout and stderr, without those that were closed before the start."""
    return [stream for stream in (sys.stdout, sys.stderr) if stream is not None]


def _closed() -> ExitCode:
    """Redirect closed streams to /dev/null, so that Python reports no error when it flushes them at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in _streams():
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    return ExitCode.PIPE_CLOSED


def main() -> NoReturn:
    """Run the program."""
    sys.exit(run(sys.argv[1:]))


def _of_api(error: Exception) -> CommandError | None:
    """Return an error of the client as a CommandError; None for other errors. The client is imported only if needed."""
    from classifeed_cli.views.api_terms import words_of
    from classifeed_client.errors import ApiError, DeadlineExceeded, Unreachable

    if not isinstance(error, ApiError):
        return None
    exit_code = ExitCode.REFUSED
    if isinstance(error, Unreachable):
        exit_code = ExitCode.UNAVAILABLE
    elif isinstance(error, DeadlineExceeded):
        exit_code = ExitCode.TIME_OUT
    # Errors of an unreachable service have its address; other errors name their cause themselves.
    hint = " `classifeed status` says what is wrong." if "address" in error.metadata else ""
    return CommandError(exit_code, error.reason, str(error) + hint, error.metadata, words=words_of(error) + hint)


def _of_text(error: UnicodeEncodeError) -> CommandError:
    """Return the error for an argument with half a surrogate pair, which cannot be encoded."""
    character = f"U+{ord(error.object[error.start]):04X}"
    message = f"an argument has the character {character}, which is no valid text: remove it (see --help)"
    return CommandError(ExitCode.USAGE, "USAGE", message)


def _of_usage(error: TyperException) -> CommandError:
    message = error.format_message().replace("Value error, ", "")
    # A command or group without arguments has already printed its help, so there is no message.
    return CommandError(ExitCode.USAGE, "USAGE", f"{message} (see --help)", words=None if message else "")


def _end(error: CommandError, arguments: Sequence[str]) -> int:
    if "--json" in arguments:
        print_json(error.as_document())
    elif error.words:
        Output(as_json=False).fail(f"classifeed: {error.words}")
    return error.exit_code


if __name__ == "__main__":
    main()
