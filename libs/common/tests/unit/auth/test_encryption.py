"""Secrets can be decrypted in their own context only."""

from __future__ import annotations

from pathlib import Path

import pytest

from classifeed_common.auth.encryption import CredentialCipher, DecryptionError, new_key_line

OLD, NEW = b"o" * 32, b"n" * 32


def test_round_trip_hides_the_text_and_differs_each_time() -> None:
    cipher = CredentialCipher([NEW])
    encrypted = cipher.encrypt(b"swordfish", "shop/default")
    assert b"swordfish" not in encrypted
    assert encrypted != cipher.encrypt(b"swordfish", "shop/default")
    assert cipher.decrypt(encrypted, "shop/default") == b"swordfish"


def test_another_context_another_key_or_a_changed_byte_cannot_be_decrypted() -> None:
    encrypted = CredentialCipher([NEW]).encrypt(b"swordfish", "shop/default")
    with pytest.raises(DecryptionError):
        CredentialCipher([NEW]).decrypt(encrypted, "rival/default")
    with pytest.raises(DecryptionError):
        CredentialCipher([OLD]).decrypt(encrypted, "shop/default")
    for at in range(len(encrypted)):
        broken = bytearray(encrypted)
        broken[at] ^= 1
        with pytest.raises(DecryptionError):
            CredentialCipher([NEW]).decrypt(bytes(broken), "shop/default")
    with pytest.raises(DecryptionError):
        CredentialCipher([NEW]).decrypt(b"", "shop/default")


def test_keys_can_be_changed_without_losing_what_is_encrypted() -> None:
    encrypted = CredentialCipher([OLD]).encrypt(b"swordfish", "shop/default")
    both = CredentialCipher([NEW, OLD])
    assert both.decrypt(encrypted, "shop/default") == b"swordfish"
    with pytest.raises(DecryptionError):
        CredentialCipher([OLD]).decrypt(both.encrypt(b"new", "shop/default"), "shop/default")


def test_file_of_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(new_key_line() + new_key_line())
    cipher = CredentialCipher.load(path)
    assert cipher.decrypt(cipher.encrypt(b"x", "c"), "c") == b"x"
    for wrong in ("", "abc", "zz" * 32, "ab" * 31, "Ключ"):
        path.write_text(wrong)
        with pytest.raises(ValueError, match="64 hexadecimal digits"):
            CredentialCipher.load(path)
