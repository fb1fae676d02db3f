"""Secrets of sellers at rest: sealed where they come in, opened only where they are used.

AES-256-GCM. What is sealed is bound to a context (whose it is), so that a row copied to another seller does not open.
"""

from __future__ import annotations

import binascii
import hashlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_VERSION: Final = b"\x01"
_KEY_BYTES: Final = 32
_KEY_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12


class Unsealable(Exception):
    """What was to be opened was sealed by a key that is gone, for another context, or not at all."""


class Sealer:
    """Seals with the first key and opens with any, so that keys can be changed.

    Args:
        keys: each 32 bytes.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise ValueError(f"a sealer needs one or more keys of {_KEY_BYTES} bytes")
        self._keys = [(_key_id(key), AESGCM(key)) for key in keys]

    @classmethod
    def load(cls, path: Path) -> Sealer:
        """Read a file of keys: 64 hexadecimal digits a line, the newest first.

        Raises:
            ValueError: the file holds something else, or nothing.
            OSError: the file cannot be read.
        """
        try:
            return cls([binascii.unhexlify(line) for line in path.read_text("ascii").split()])
        except (binascii.Error, UnicodeDecodeError, ValueError) as error:
            raise ValueError(f"{path} must hold one or more keys, 64 hexadecimal digits a line: {error}") from error

    def seal(self, plain: bytes, context: str) -> bytes:
        """Return `plain` sealed for `context`; another sealing of the same differs."""
        key_id, key = self._keys[0]
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + key_id + nonce + key.encrypt(nonce, plain, context.encode())

    def unseal(self, sealed: bytes, context: str) -> bytes:
        """Return what was sealed for `context`.

        Raises:
            Unsealable: it was not, or its key is gone.
        """
        nonce_at = len(_VERSION) + _KEY_ID_BYTES
        version, key_id = sealed[:1], sealed[1:nonce_at]
        nonce, body = sealed[nonce_at : nonce_at + _NONCE_BYTES], sealed[nonce_at + _NONCE_BYTES :]
        if version == _VERSION:
            for known_id, key in self._keys:
                if known_id == key_id:
                    try:
                        return key.decrypt(nonce, body, context.encode())
                    except InvalidTag:
                        continue
        raise Unsealable(f"secrets of {context} cannot be opened: their key is gone, or they were sealed for another")


def new_key_line() -> str:
    """Return a fresh key as a line for the file of keys."""
    return secrets.token_hex(_KEY_BYTES) + "\n"


def _key_id(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=_KEY_ID_BYTES).digest()
