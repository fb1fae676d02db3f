"""The system user that a server runs as where it is started by root."""

from __future__ import annotations

import fcntl
import os
import pwd
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .process import ServerError

# Not the files that `useradd` locks itself: it would wait for us.
_LOCKED: Final = "/etc"


def system_user(name: str) -> tuple[int, int]:
    """Return uid and gid of a system user, made where there is none. Must run as root.

    One process at a time makes it: `useradd` looks for the name before it takes its lock, so of two that run at once
    the second one gives the user another uid, and the first one's servers run as nobody.

    Raises:
        ServerError: it cannot be made.
    """
    if (found := _find(name)) is not None:
        return found
    with _locked():
        if (found := _find(name)) is not None:
            return found
        command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
        made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if (found := _find(name)) is not None:
            return found
    raise ServerError(
        f"postgres: PostgreSQL does not run as root and the system user {name} cannot be created "
        f"({made.stderr.strip()}): start as another user"
    )


def _find(name: str) -> tuple[int, int] | None:
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
