from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from classifeed_domain.document_shards import SHARDS, hash_of, hashes_of, shard_of


@pytest.mark.parametrize(
    ("pk", "pk_hash", "shard"),
    [
        ("1", 8401877197987189471, 29),
        ("диван", -6752968310480773679, 40),
        ("seller/ns/42", 6320770017241881808, 21),
    ],
)
def test_hash_and_shard_never_change(pk: str, pk_hash: int, shard: int) -> None:
    """Rows and cursors of readers contain them: with another value, every stored document would be lost."""
    assert (hash_of(pk), shard_of(hash_of(pk))) == (pk_hash, shard)


def test_shards_are_filled_evenly() -> None:
    counts = Counter(shard_of(hash_of(f"offer-{number}")) for number in range(64_000))
    assert set(counts) == set(range(SHARDS))
    assert min(counts.values()) > 800
    assert max(counts.values()) < 1200


def test_shard_is_one_range_of_hashes() -> None:
    ranges = sorted(hashes_of(shard) for shard in range(SHARDS))
    assert (ranges[0][0], ranges[-1][1]) == (-(2**63), 2**63 - 1)
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(ranges))
    for shard in range(SHARDS):
        assert [shard_of(pk_hash) for pk_hash in hashes_of(shard)] == [shard, shard]
