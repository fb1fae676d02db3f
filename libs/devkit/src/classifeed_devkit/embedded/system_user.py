"""The system user that a server runs as when root starts it."""

from __future__ import annotations

import fcntl
import os
import pwd
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from classifeed_devkit.embedded.process import ServerError, launch_command

NOBODY: Final = (65534, 65534)
"""uid and gid of a user that owns nothing."""

# A folder that `useradd` does not lock: it would wait for this process.
_LOCKED: Final = "/etc"


def system_user(name: str) -> tuple[int, int]:
    """Return uid and gid of a system user, which is created if it is missing. Must run as root.

    One process at a time creates it. `useradd` looks for the name before it takes its lock: the second of two
    concurrent runs would change the user's uid, and servers of the first would run under an unknown one.

    Raises:
        ServerError: the user cannot be created.
    """
    if (found := find_user(name)) is not None:
        return found
    with _locked():
        if (found := find_user(name)) is not None:
            return found
        command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
        made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if (found := find_user(name)) is not None:
            return found
    raise ServerError(
        f"postgres: PostgreSQL does not run as root and the system user {name} cannot be created "
        f"({made.stderr.strip()}): start as another user"
    )


def find_obstacle(user: tuple[int, int], path: Path) -> str | None:
    """Return why a server that root starts as another user cannot reach a path, with the fix; None if it can.

    A short process asks the kernel, with the capability that the server would have. Must run as root.

    Args:
        user: uid and gid of the server.
        path: an existing program or folder.
    """
    command = [*launch_command(user=user), "--", "test", "-x", str(path)]
    if subprocess.run(command, capture_output=True, check=False, cwd="/").returncode == 0:  # noqa: S603
        return None
    closed = (folder for folder in reversed((path, *path.parents)) if not _is_open(folder, user))
    folder = next(closed, path)
    return (
        f"PostgreSQL does not run as root, and its system user cannot pass through {folder} to {path}: run "
        f"`chmod o+x {folder}`, clone into a folder that all users may enter, start as another user, or give root "
        "the capability DAC_READ_SEARCH"
    )


def find_own_obstacle() -> str | None:
    """Return why PostgreSQL cannot run as this process's user, with the fix; None if it can."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return (
            f"PostgreSQL needs the name of its user, and /etc/passwd has none for user id {os.geteuid()}: add a line "
            f"such as `user:x:{os.geteuid()}:{os.getegid()}::/:/bin/sh`, or start as another user"
        )
    return None


def _is_open(folder: Path, user: tuple[int, int]) -> bool:
    status = folder.stat()
    shift = 6 if status.st_uid == user[0] else 3 if status.st_gid == user[1] else 0
    return bool(status.st_mode >> shift & 1)


def find_user(name: str) -> tuple[int, int] | None:
    """Return uid and gid of a user of this machine; None if it does not exist."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return entry.pw_uid, entry.pw_gid


@contextmanager
def _locked() -> Iterator[None]:
    folder = os.open(_LOCKED, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
