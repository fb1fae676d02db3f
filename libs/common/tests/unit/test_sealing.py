"""Sealed secrets open for the one they were sealed for, and for nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from classifeed_common.auth.sealing import Sealer, Unsealable, new_key_line

OLD, NEW = b"o" * 32, b"n" * 32


def test_round_trip_hides_the_text_and_differs_each_time() -> None:
    sealer = Sealer([NEW])
    sealed = sealer.seal(b"swordfish", "shop/default")
    assert b"swordfish" not in sealed
    assert sealed != sealer.seal(b"swordfish", "shop/default")
    assert sealer.unseal(sealed, "shop/default") == b"swordfish"


def test_another_context_another_key_or_a_changed_byte_does_not_open() -> None:
    sealed = Sealer([NEW]).seal(b"swordfish", "shop/default")
    with pytest.raises(Unsealable):
        Sealer([NEW]).unseal(sealed, "rival/default")
    with pytest.raises(Unsealable):
        Sealer([OLD]).unseal(sealed, "shop/default")
    for at in range(len(sealed)):
        broken = bytearray(sealed)
        broken[at] ^= 1
        with pytest.raises(Unsealable):
            Sealer([NEW]).unseal(bytes(broken), "shop/default")
    with pytest.raises(Unsealable):
        Sealer([NEW]).unseal(b"", "shop/default")


def test_keys_can_be_changed_without_losing_what_is_sealed() -> None:
    sealed = Sealer([OLD]).seal(b"swordfish", "shop/default")
    both = Sealer([NEW, OLD])
    assert both.unseal(sealed, "shop/default") == b"swordfish"
    with pytest.raises(Unsealable):
        Sealer([OLD]).unseal(both.seal(b"new", "shop/default"), "shop/default")


def test_file_of_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(new_key_line() + new_key_line())
    sealer = Sealer.load(path)
    assert sealer.unseal(sealer.seal(b"x", "c"), "c") == b"x"
    for wrong in ("", "abc", "zz" * 32, "ab" * 31, "Ключ"):
        path.write_text(wrong)
        with pytest.raises(ValueError, match="64 hexadecimal digits"):
            Sealer.load(path)
