"""Keys of tokens on disk: one private key per caller, and all public keys in one JWKS file (RFC 7517).

Each public key has the member `owner`, and verifies tokens of this owner only. A service whose key leaks cannot
impersonate another service.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from classifeed_common.auth.policy import OPERATOR

JWKS_FILE = "jwks.json"
# Records of the tokens of teams (`team_tokens`).
RECORDS_FILE = "tokens.json"
_CALLER = re.compile(r"^[a-z][a-z0-9_-]{0,63}$")


def write_keys(directory: Path, callers: Iterable[str]) -> None:
    """Create a key for each caller without one; folder 0700, files 0600. Idempotent: existing keys stay.

    A missing JWKS file is rebuilt from the private keys. The operator's first key comes with an empty list of team
    tokens.

    Raises:
        ValueError: a caller's name cannot be a file name.
    """
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    missing = [caller for caller in callers if not _private_file(directory, caller).exists()]
    made = {caller: _new_key(caller) for caller in missing}
    published = read_public_keys(directory)
    if OPERATOR in made and not any(key["owner"] == OPERATOR for key in published):
        # The operator has not signed anything yet. Later, a missing list of tokens is never created again: ADR 0098.
        write_token_records(directory, [], {})
    # Verifiers must know a key before its owner signs with it, even after a crash in between: private keys are written
    # last.
    if not (directory / JWKS_FILE).exists():
        published = [_public_entry(path.stem, _load(path)) for path in sorted(directory.glob("*.pem"))]
    if made or not (directory / JWKS_FILE).exists():
        _write_public_keys(directory, [*published, *(key for key, _ in made.values())])
    for caller, (_, private) in made.items():
        write_secret(_private_file(directory, caller), private)


def rotate_key(directory: Path, caller: str, *, keep: int = 1) -> None:
    """Give a caller a new key. Its `keep` newest old keys still verify, so that tokens in use stay valid.

    Running processes read the changed files without a restart. Use `keep=0` to withdraw a leaked key.
    """
    published = read_public_keys(directory)
    own = [key for key in published if key["owner"] == caller]
    dropped = own[: max(0, len(own) - keep)]
    key, private = _new_key(caller)
    _write_public_keys(directory, [*(k for k in published if k not in dropped), key])
    write_secret(_private_file(directory, caller), private)


def read_public_keys(directory: Path) -> list[dict[str, Any]]:
    """Return the entries of the JWKS file, oldest first; an empty list without a file."""
    try:
        document = json.loads((directory / JWKS_FILE).read_text())
    except FileNotFoundError:
        return []
    keys: list[dict[str, Any]] = document["keys"]
    return keys


def read_private_key(directory: Path, caller: str) -> tuple[str, Ed25519PrivateKey]:
    """Return the key id and the private key of a caller.

    Raises:
        FileNotFoundError: the folder has no key of this caller.
        ValueError: the file is not an Ed25519 key.
    """
    key = _load(_private_file(directory, caller))
    return key_id(public_x(key)), key


def key_id(public_x: str) -> str:
    """Return the RFC 7638 thumbprint of an Ed25519 key with the given `x`."""
    canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": public_x}, separators=(",", ":"))
    return _base64url(hashlib.sha256(canonical.encode()).digest())


def public_x(key: Ed25519PrivateKey) -> str:
    """Return the public key in the form of a JWKS file."""
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return _base64url(raw)


def _new_key(caller: str) -> tuple[dict[str, Any], bytes]:
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return _public_entry(caller, key), pem


def _load(path: Path) -> Ed25519PrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError(  # noqa: TRY004 - what is wrong is the file
            f"{path.name} is not an Ed25519 key. Create it again with write_keys."
        )
    return key


def _public_entry(caller: str, key: Ed25519PrivateKey) -> dict[str, Any]:
    x = public_x(key)
    return {
        "kty": "OKP",
        "crv": "Ed25519",
        "alg": "EdDSA",
        "use": "sig",
        "kid": key_id(x),
        "x": x,
        "owner": caller,
    }


def _private_file(directory: Path, caller: str) -> Path:
    if not _CALLER.match(caller):
        raise ValueError(f"{caller!r} cannot be the name of a caller: lower-case letters, digits, _ and - only")
    return directory / f"{caller}.pem"


def _write_public_keys(directory: Path, keys: Sequence[dict[str, Any]]) -> None:
    write_secret(directory / JWKS_FILE, json.dumps({"keys": list(keys)}, indent=1).encode())


def write_token_records(
    directory: Path, records: Sequence[Mapping[str, Any]], owners: Mapping[str, Sequence[str]]
) -> None:
    """Replace the list of team tokens, and the owners by token id."""
    document = {"tokens": list(records), "owners": dict(owners)}
    write_secret(directory / RECORDS_FILE, json.dumps(document, indent=1).encode())


def write_secret(path: Path, content: bytes) -> None:
    """Replace a file atomically, mode 0600."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
