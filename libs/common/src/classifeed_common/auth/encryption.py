"""Encryption of sellers' secrets at rest: a secret is encrypted on receipt and decrypted only for use.

AES-256-GCM. Each text is bound to a context (its seller), so that a row copied to another seller cannot be decrypted.
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


class DecryptionError(Exception):
    """The key of a text is unknown, the text belongs to another context, or it is not encrypted."""


class CredentialCipher:
    """Encrypts with the first key and decrypts with any of them, so that keys can be rotated.

    Args:
        keys: keys of 32 bytes each, the newest first.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise ValueError(f"a cipher needs one or more keys of {_KEY_BYTES} bytes")
        self._keys = [(_key_id(key), AESGCM(key)) for key in keys]

    @classmethod
    def load(cls, path: Path) -> CredentialCipher:
        """Read a file of keys: 64 hexadecimal digits a line, the newest first.

        Raises:
            ValueError: the file holds something else, or nothing.
            OSError: the file cannot be read.
        """
        try:
            return cls([binascii.unhexlify(line) for line in path.read_text("ascii").split()])
        except (binascii.Error, UnicodeDecodeError, ValueError) as error:
            raise ValueError(f"{path} must hold one or more keys, 64 hexadecimal digits a line: {error}") from error

    @property
    def prefixes(self) -> list[bytes]:
        """Prefixes of the texts that these keys can decrypt; all have the same length."""
        return [_VERSION + key_id for key_id, _ in self._keys]

    def encrypt(self, plain: bytes, context: str) -> bytes:
        """Return `plain` encrypted for `context`; each encryption of the same text differs."""
        key_id, key = self._keys[0]
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + key_id + nonce + key.encrypt(nonce, plain, context.encode())

    def decrypt(self, encrypted: bytes, context: str) -> bytes:
        """Return the plain text of something encrypted for `context`.

        Raises:
            DecryptionError: it was encrypted for another context, or its key is missing.
        """
        nonce_at = len(_VERSION) + _KEY_ID_BYTES
        version, key_id = encrypted[:1], encrypted[1:nonce_at]
        nonce, body = encrypted[nonce_at : nonce_at + _NONCE_BYTES], encrypted[nonce_at + _NONCE_BYTES :]
        if version == _VERSION:
            for known_id, key in self._keys:
                if known_id == key_id:
                    try:
                        return key.decrypt(nonce, body, context.encode())
                    except InvalidTag:
                        continue
        raise DecryptionError(
            f"secrets of {context} cannot be decrypted: their key is missing, or they were encrypted for another"
        )


def new_key_line() -> str:
    """Return a new key as a line for the file of keys."""
    return secrets.token_hex(_KEY_BYTES) + "\n"


def _key_id(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=_KEY_ID_BYTES).digest()
