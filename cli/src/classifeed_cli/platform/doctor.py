"""Checks of the machine and of the running installation, each with a fix."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classifeed_cli.exit_codes import CommandError
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_cli.platform.supervision.description import describe_status, read_running, rows_of, since_words
from classifeed_devkit.embedded.kafka import java
from classifeed_devkit.embedded.kafka_jars import cache_dir, pinned_jars
from classifeed_devkit.embedded.memory import free_memory_bytes
from classifeed_devkit.embedded.postgres import SYSTEM_USER, binaries
from classifeed_devkit.embedded.process import ServerError
from classifeed_devkit.embedded.s3 import rclone
from classifeed_devkit.embedded.system_user import NOBODY, find_obstacle, find_own_obstacle, find_user

_FREE_DISK_GIB = 2
_FREE_MEMORY_MIB = 1400


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: `ok`, `warning` (the suite may work poorly) or `failed`, with details or the fix."""

    check: str
    outcome: str
    text: str


def examine(layout: Layout) -> list[Finding]:
    """Return all findings, without starting or changing anything."""
    return [*_machine(layout), *_packages(), *_postgres_user(layout), *_services(), *_installation(layout)]


def _machine(layout: Layout) -> Iterator[Finding]:
    wanted = sys.version_info >= (3, 11)
    yield Finding(
        "python",
        "ok" if wanted else "failed",
        platform.python_version() + ("" if wanted else ": 3.11 or newer is needed"),
    )
    existing = _existing(layout)
    free_gib = shutil.disk_usage(existing).free / 2**30
    enough = free_gib >= _FREE_DISK_GIB
    text = f"{free_gib:.1f} GiB free for {layout.root}"
    yield Finding(
        "disk", "ok" if enough else "warning", text + ("" if enough else f": {_FREE_DISK_GIB} are recommended")
    )
    writable = os.access(existing, os.W_OK)
    text = str(existing) if writable else f"{existing} cannot be written: choose another folder with --data"
    yield Finding("data folder", "ok" if writable else "failed", text)
    free = free_memory_bytes()
    if free is not None:
        available = free >> 20
        enough = available >= _FREE_MEMORY_MIB
        text = f"{available} MiB free" + ("" if enough else f": the suite takes about {_FREE_MEMORY_MIB}")
        yield Finding("memory", "ok" if enough else "warning", text)


def _existing(layout: Layout) -> Path:
    return next(folder for folder in (layout.root, *layout.root.parents) if folder.exists())


def _postgres_user(layout: Layout) -> Iterator[Finding]:
    """Check that PostgreSQL has a user to run as: the current one, or, for root, a system user."""
    check = "postgres user"
    if os.geteuid() != 0:
        obstacle = find_own_obstacle()
        yield Finding(check, "failed" if obstacle else "ok", obstacle or "the one that starts the suite")
        return
    user = find_user(SYSTEM_USER)
    if user is None and shutil.which("useradd") is None:
        text = f"root starts PostgreSQL as the user {SYSTEM_USER}, which is missing, and useradd is not installed"
        yield Finding(check, "failed", f"{text}: install it (package passwd), or start as another user")
        return
    for path in (binaries() / "postgres", _existing(layout)):
        if (obstacle := find_obstacle(user or NOBODY, path)) is not None:
            yield Finding(check, "failed", obstacle)
            return
    yield Finding(check, "ok", SYSTEM_USER if user else f"{SYSTEM_USER} is made at the first start")


def _packages() -> Iterator[Finding]:
    programs: dict[str, Callable[[], Path]] = {
        "postgres": lambda: binaries() / "postgres",
        "java": java,
        "s3": lambda: Path(rclone()),
    }
    for name, find in programs.items():
        try:
            program = find()
        except ServerError as error:
            yield Finding(name, "failed", str(error))
        else:
            there = os.access(program, os.X_OK)
            text = str(program) if there else f"{program} cannot be run: install it with `make setup`"
            yield Finding(name, "ok" if there else "failed", text)
    folder = cache_dir() / "kafka"
    missing = [jar for jar in pinned_jars() if not (folder / jar.file_name).exists()]
    text = f"{len(missing)} of {len(pinned_jars())} files are fetched into {folder} at the first start (45 MB)"
    yield Finding("kafka", "warning" if missing else "ok", text if missing else str(folder))


def _services() -> Iterator[Finding]:
    for spec in ServiceTable.load().services.values():
        try:
            spec.check_installed()
        except CommandError as error:
            yield Finding(spec.name, "failed", error.message)
        else:
            yield Finding(spec.name, "ok", f"{spec.package} {spec.version}".strip())


def _installation(layout: Layout) -> Iterator[Finding]:
    running = read_running(layout)
    if running is None:
        yield Finding("installation", "ok", f"none runs in {layout.root}")
    else:
        yield from _what_runs(layout, asyncio.run(describe_status(running)))
    if layout.keys.exists():
        open_to_others = [path for path in (layout.keys, *layout.keys.iterdir()) if path.stat().st_mode & 0o077]
        text = f"others can read {', '.join(map(str, open_to_others))}: chmod go= them" if open_to_others else "private"
        yield Finding("keys", "failed" if open_to_others else "ok", text)


def _what_runs(layout: Layout, status: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield findings about the running installation, and about each part and service with a problem."""
    rows = list(rows_of(status))
    unwell = [(name, row) for name, row in rows if row["problems"]]
    text = f"{status['phase']} in {layout.root}, supervisor pid {status['supervisor']['pid']}"
    if unwell or not status["ready"]:
        text += f": {len(unwell)} of {len(rows)} parts and services do not work as they should"
    yield Finding("installation", "ok" if status["healthy"] else "failed", text)
    for name, row in unwell:
        problems = [
            f"{problem.rstrip('.')}. {fix}".rstrip() for problem, fix in zip(row["problems"], row["fixes"], strict=True)
        ]
        yield Finding(f"running {name}", "failed", f"{since_words(row)}: {' '.join(problems)} Log: {row['log']}")
