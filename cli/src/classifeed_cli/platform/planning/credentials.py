"""Passwords, token keys and tokens of an installation, created once and stored in its keys folder."""

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
# A caller with the permissions of all services, for external programs that test or repair.
SERVICE = "service"
BUCKET = "classifeed"
TOKEN_LIFE_S = 3600.0
TOKEN_RENEWAL_S = 600.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """Passwords of PostgreSQL's superuser, of each service's role, and of S3."""

    superuser: str
    roles: dict[str, str]
    s3_access_key: str
    s3_secret_key: str


def ensure_credentials(layout: Layout, services: Iterable[str]) -> Credentials:
    """Return the passwords, and create missing passwords and keys. Idempotent.

    Raises:
        CommandError: KEY_FILE_DAMAGED; KEY_FILE_LOST, if the password of an existing database is missing.
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
    """Create missing keys: the callers' keys for tokens, and the key for credentials of feeds. Idempotent.

    If a lost key has encrypted credentials, the api names their feeds.

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
    """Write a new token, valid for all `services`, to each token file. Call it every TOKEN_RENEWAL_S."""
    store, audiences = KeyStore(layout.keys), tuple(services)
    for caller in (OPERATOR, SERVICE):
        # Without a newline at the end, so that `$(cat FILE)` and read() agree.
        write_private(layout.token(caller), store.issue(caller, audiences, TOKEN_LIFE_S))


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically, with mode 0600."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
