from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifeed_domain.document_digest import Digest, digest_of

HASHES = st.integers(-(2**63), 2**63 - 1)
VERSIONS = st.integers(1, 2**63 - 1)


@pytest.mark.parametrize(
    ("pk_hash", "version", "digest"),
    [
        (0, 1, Digest(3087602286, 2107143679)),
        (8401877197987189471, 1795364667573963, Digest(1615046656, 2811225345)),
        (-6752968310480773679, 2**63 - 1, Digest(3323475142, 376991569)),
    ],
)
def test_digest_never_changes(pk_hash: int, version: int, digest: Digest) -> None:
    """Indexes store it: with another value, every index would differ from the registry."""
    assert digest_of(pk_hash, version) == digest


@given(HASHES, VERSIONS)
def test_digest_is_two_numbers_of_32_bits(pk_hash: int, version: int) -> None:
    assert all(0 <= part < 2**32 for part in digest_of(pk_hash, version))


@given(HASHES, VERSIONS, st.integers(1, 2**31))
def test_another_version_has_another_digest(pk_hash: int, version: int, step: int) -> None:
    later = (version + step) % 2**62
    folded = {(v ^ v >> 32) & 0xFFFFFFFF for v in (version, later)}
    if len(folded) == 2:
        assert digest_of(pk_hash, version).a != digest_of(pk_hash, later).a


def test_versions_swapped_between_documents_do_not_cancel() -> None:
    """A sum of plain products would miss this: one document is a version ahead, another one a version behind."""
    rng = random.Random(5)
    for _ in range(10_000):
        first, second = rng.randrange(2**63), rng.randrange(2**63)
        version = 1_795_364_667_573_963 + rng.randrange(10**9)
        right = [digest_of(first, version), digest_of(second, version + 1)]
        wrong = [digest_of(first, version + 1), digest_of(second, version)]
        assert sum(d.a for d in right) != sum(d.a for d in wrong) or sum(d.b for d in right) != sum(d.b for d in wrong)
