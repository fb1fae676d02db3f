"""Passwords, token keys and tokens of an installation, made once and kept in its keys folder."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from classifeed_cli.platform.planning.key_files import check_keys, password_lost, read_passwords
from classifeed_cli.platform.planning.layout import CREDENTIAL_KEYS_FILE, Layout, write_json
from classifeed_common.auth import KeyStore, write_keys
from classifeed_common.auth.encryption import new_key_line

OPERATOR = "operator"
# The caller that stands for "some service of this installation", for programs outside that test or repair.
SERVICE = "service"
BUCKET = "classifeed"
TOKEN_LIFE_S = 3600.0
TOKEN_RENEWAL_S = 600.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """The passwords: of PostgreSQL's superuser, of each service's role, of S3."""

    superuser: str
    roles: dict[str, str]
    s3_access_key: str
    s3_secret_key: str


def ensure_credentials(layout: Layout, services: Iterable[str]) -> Credentials:
    """Read the passwords; make those that are missing, keys of tokens and of credentials too. Idempotent.

    Raises:
        CommandError: KEY_FILE_DAMAGED; KEY_FILE_LOST, the password of a database that exists.
    """
    names = list(services)
    make_keys(layout.keys, [*names, OPERATOR, SERVICE])
    path = layout.keys / "postgres.json"
    known = read_passwords(path, "postgres")
    if known is None and layout.part("postgres").exists():
        raise password_lost(layout, path)
    passwords = known or {}
    missing = [name for name in ("postgres", *names) if name not in passwords]
    if missing:
        passwords |= {name: secrets.token_urlsafe(18) for name in missing}
        write_json(path, passwords)
    s3 = read_passwords(layout.s3_keys, "access_key", "secret_key")
    if s3 is None:
        s3 = {"access_key": "classifeed", "secret_key": secrets.token_urlsafe(18), "bucket": BUCKET}
        write_json(layout.s3_keys, s3)
    roles = {name: passwords[name] for name in names}
    return Credentials(passwords["postgres"], roles, s3["access_key"], s3["secret_key"])


def make_keys(folder: Path, callers: Iterable[str]) -> None:
    """Make the callers' keys of tokens, and the one of credentials, where they are missing. Idempotent.

    Where a lost key of credentials encrypted some, the api names their feeds.

    Raises:
        CommandError: KEY_FILE_DAMAGED.
    """
    callers = list(callers)
    check_keys(folder, callers)
    write_keys(folder, callers)
    credential_keys = folder / CREDENTIAL_KEYS_FILE
    if not credential_keys.exists():
        write_private(credential_keys, new_key_line())


def write_tokens(layout: Layout, services: Iterable[str]) -> None:
    """Put a fresh token, good for all `services`, into each token file; to be called every TOKEN_RENEWAL_S."""
    store, audiences = KeyStore(layout.keys), tuple(services)
    for caller in (OPERATOR, SERVICE):
        # Without a newline at the end: `$(cat FILE)` and read() agree.
        write_private(layout.token(caller), store.issue(caller, audiences, TOKEN_LIFE_S))


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, mode 0600."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
