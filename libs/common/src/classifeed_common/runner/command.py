"""`python -m classifeed_<service>`: the command line of every service."""

from __future__ import annotations

import argparse
import asyncio
import gc
import inspect
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import structlog

from classifeed_common.errors import name_fault
from classifeed_common.runner.listening import ListenError, StartError, say
from classifeed_common.runner.service import SERVE, ServiceRunner
from classifeed_common.settings import ServiceSettings, describe_settings, load_settings
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.log_files import RotatedFile
from classifeed_common.telemetry.log_rotation import Rotation
from classifeed_common.telemetry.logging import configure_logging
from classifeed_common.telemetry.metric_file import MetricFile
from classifeed_common.telemetry.tracing import Tracing, TracingSettingsError, configure_tracing

if TYPE_CHECKING:
    from classifeed_common.kafka.topics.topics import Topic

SettingsT = TypeVar("SettingsT", bound=ServiceSettings)

_EPILOG = (
    "serve: handle calls; work: the other roles; without a verb: both. migrate: bring the schema up to date; check: "
    "print what is missing. Settings come from the environment, see --help-settings."
)
# A batch creates thousands of objects that die with it. With Python's default of 700, the collector scans them several
# times per batch and finds nothing: 5 to 10 % of a service's CPU under load.
_YOUNG_OBJECTS: Final = 10_000
# Python joins its threads before a process ends, and a thread that reads a large file cannot be interrupted.
_JOINING_S: Final = 5.0
_log = structlog.get_logger("runner")


def main(
    service: str,
    settings_cls: type[SettingsT],
    bootstrap: Callable[[SettingsT], ServiceRunner | Awaitable[ServiceRunner]],
    migrations_package: str | None,
    *,
    prepare: Callable[[SettingsT], Awaitable[None]] | None = None,
    growable: Mapping[Topic, Collection[str]] = MappingProxyType({}),
    argv: Sequence[str] | None = None,
) -> NoReturn:
    """Run the command line of a service and end the process.

    Exit codes: 0: ended in order; 1: failed while running (start it again); 2: cannot start with its configuration.

    Args:
        service: name of the service.
        settings_cls: class of its settings.
        bootstrap: builds the runner from the settings, inside the event loop, before anything is opened.
        migrations_package: package with the Alembic history; None: the service has no tables.
        prepare: further work of `migrate`, such as the creation of topics; idempotent.
        growable: topics that `migrate --grow` may grow, with this service's groups that read them.
        argv: arguments; None: those of the process.
    """
    parser = argparse.ArgumentParser(prog=f"classifeed_{service}", epilog=_EPILOG)
    parser.add_argument("verb", nargs="?", choices=("serve", "work", "migrate", "check"))
    parser.add_argument("--role", action="append", default=[], help="run this role alone; may be repeated")
    parser.add_argument(
        "--phase", choices=("pre", "post", "all"), default="all", help="for migrate: phase of the revisions"
    )
    parser.add_argument("--grow", metavar="TOPIC", help="for migrate: only add the declared partitions of a topic")
    parser.add_argument("--help-settings", action="store_true", help="list the environment variables and exit")
    arguments = parser.parse_args(argv)
    if arguments.help_settings:
        print(describe_settings(settings_cls))  # noqa: T201 that is what was requested
        sys.exit(0)
    settings = load_settings(settings_cls)
    configure_logging(
        service,
        level=settings.log_level,
        as_json=settings.log_json,
        zone=settings.log_zone,
        log_file=_file(settings, settings.log_path, settings.log_file_name or f"{service}.log"),
        audit_file=_file(settings, settings.audit_log_path, settings.audit_log_file_name or f"{service}-audit.log"),
    )
    tracing = _configure_tracing(service, settings)
    try:
        if arguments.verb == "migrate" and arguments.grow is not None:
            code = _grow(settings, growable, arguments.grow)
        elif arguments.verb == "migrate":
            code = _migrate(settings, migrations_package, arguments.phase, prepare)
        else:
            with _metric_lines(service, settings):
                code = asyncio.run(_run(settings, bootstrap, arguments.verb, arguments.role))
    except StartError as error:
        say(str(error))
        code = 2
    finally:
        tracing.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)


def version_of(service: str) -> str:
    """Return the version of a service's distribution; "0" if it is not installed."""
    try:
        return version(f"classifeed-{service}")
    except PackageNotFoundError:
        return "0"


def _configure_tracing(service: str, settings: ServiceSettings) -> Tracing:
    try:
        return configure_tracing(service, environment=settings.environment, file=settings.telemetry_file)
    except TracingSettingsError as error:
        say(str(error))
        sys.exit(2)


def _file(settings: ServiceSettings, folder: Path | None, name: str) -> RotatedFile | None:
    if folder is None:
        return None
    return RotatedFile(folder / name, Rotation.parse(settings.log_rotation), settings.log_zone)


def _metric_lines(service: str, settings: ServiceSettings) -> AbstractContextManager[object]:
    file = _file(settings, settings.metric_path, settings.metric_file_name or f"{service}-metrics.jsonl")
    if file is None:
        return nullcontext()
    return MetricFile(file, service=service, zone=settings.log_zone)


def _migrate(
    settings: SettingsT,
    package: str | None,
    phase: str,
    prepare: Callable[[SettingsT], Awaitable[None]] | None,
) -> int:
    if package is not None:
        from classifeed_common.db.migrations import migrate

        migrate(
            package,
            settings.dsn.get_secret_value(),
            settings.db_schema,
            phase,  # type: ignore[arg-type]
            further_schemas=settings.further_schemas,
        )
    if prepare is not None:
        asyncio.run(_await(prepare(settings)))
    return 0


def _grow(settings: ServiceSettings, growable: Mapping[Topic, Collection[str]], name: str) -> int:
    from classifeed_common.runner.growing import grow_topic

    return grow_topic(settings, growable, name)


async def _await(awaitable: Awaitable[None]) -> None:
    await awaitable


async def _run(
    settings: SettingsT,
    bootstrap: Callable[[SettingsT], ServiceRunner | Awaitable[ServiceRunner]],
    verb: str | None,
    requested: Sequence[str],
) -> int:
    try:
        built = bootstrap(settings)
        runner = await built if inspect.isawaitable(built) else built
        if verb == "check":
            return await _check(runner)
        _spare_collector()
        selected = select_roles(runner.role_names, verb=verb, requested=requested or sorted(settings.selected_roles))
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        code = await runner.run(stop, selected)
    except StartError:
        raise
    except Exception as error:  # noqa: BLE001 after any error, the supervisor starts the process again
        log_fault(_log, "runner.failed", error, pid=os.getpid())
        code = 1
    _end_within(_JOINING_S, code)
    return code


def _spare_collector() -> None:
    """Exclude permanent objects from garbage collection, and run it less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)


def _end_within(limit_s: float, code: int) -> None:
    """End the process after at most `limit_s`: the work of remaining threads is no longer needed."""

    def end() -> None:
        working = [thread.name for thread in threading.enumerate() if not thread.daemon]
        _log.warning("runner.threads.left", threads=working)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    timer = threading.Timer(limit_s, end)
    timer.daemon = True
    timer.start()


async def _check(runner: ServiceRunner) -> int:
    try:
        missing = await runner.check()
    except Exception as error:  # noqa: BLE001 a failed opening is a result of the check
        missing = {"start": name_fault(error)}
    for name, fault in missing.items():
        say(f"{name}: {fault}")
    return 1 if missing else 0


def select_roles(known: Sequence[str], *, verb: str | None, requested: Sequence[str]) -> frozenset[str]:
    """Return the roles to run: the requested ones among those that the verb allows.

    Raises:
        ListenError: a requested role does not exist in the service.
    """
    unknown = [name for name in requested if name not in known]
    if unknown:
        raise ListenError(f"there is no role {', '.join(unknown)}; roles are: {', '.join(known)}")
    allowed = {SERVE} if verb == "serve" else {name for name in known if verb is None or name != SERVE}
    return frozenset(allowed & set(requested) if requested else allowed)
