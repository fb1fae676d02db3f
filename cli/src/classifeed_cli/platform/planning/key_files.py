"""Checks the files of the keys folder before they are used or further files are created."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from classifeed_cli.exit_codes import CommandError, unavailable
from classifeed_cli.platform.planning.layout import CREDENTIAL_KEYS_FILE, Layout, read_json
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.auth.keys import JWKS_FILE, read_private_key, read_public_keys

_FROM_BACKUP: Final = "Restore the file from a backup"
_PUBLIC: Final = f"{_FROM_BACKUP}, or remove it: the next start makes it from the private keys."
_PRIVATE: Final = f"{_FROM_BACKUP}, or remove it: the next start makes a new key."
_CREDENTIALS: Final = (
    f"{_FROM_BACKUP}, or remove it: the next start makes a new key, and `classifeed status` names the feeds whose "
    "credentials must be entered again."
)


def check_keys(folder: Path, callers: Iterable[str]) -> None:
    """Check that the keys of a folder can be read. Missing keys are valid.

    Raises:
        CommandError: KEY_FILE_DAMAGED.
    """
    _check(
        folder / JWKS_FILE, lambda: [(key["owner"], key["x"], key["kid"]) for key in read_public_keys(folder)], _PUBLIC
    )
    for caller in callers:
        if (path := folder / f"{caller}.pem").exists():
            _check(path, partial(read_private_key, folder, caller), _PRIVATE)
    if (path := folder / CREDENTIAL_KEYS_FILE).exists():
        _check(path, partial(CredentialCipher.load, path), _CREDENTIALS)


def read_passwords(path: Path, *names: str) -> dict[str, str] | None:
    """Return the passwords of a file, which must have these names; None if there is no file.

    Raises:
        CommandError: KEY_FILE_DAMAGED.
    """

    def read() -> dict[str, str] | None:
        content = read_json(path)
        if content is not None and (lacking := [name for name in names if not isinstance(content.get(name), str)]):
            raise ValueError(f"{lacking[0]} is missing")
        return content

    found: dict[str, str] | None = _check(path, read, f"{_FROM_BACKUP}.")
    return found


def password_lost(layout: Layout, path: Path) -> CommandError:
    """Return the error of a missing password of an existing database."""
    return unavailable(
        "KEY_FILE_LOST",
        f"{path} is missing, and the database in {layout.part('postgres')} opens only with the password in it. "
        f"{_FROM_BACKUP}.",
    )


def _check(path: Path, read: Callable[[], Any], fix: str) -> Any:
    try:
        return read()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise unavailable("KEY_FILE_DAMAGED", f"{path} cannot be read ({what}). {fix}") from error
