"""Batches depend only on the file: they are the same in each run, within limits, and complete."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch
from classifeed_feeds.batches import MAX_RECORDS, MAX_SOURCE_BYTES, RunDigest

from ..conftest import Load, WriteOffer, WriteYml

shapes = st.lists(st.tuples(st.sampled_from(["good", "bad", "nameless", "same"]), st.integers(0, 60_000)), max_size=260)


def run_digest(batches: list[OfferBatch]) -> bytes:
    digest = RunDigest()
    for batch in batches:
        digest.add(batch.digest)
    return digest.value()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes)
def test_a_rerun_sends_the_same_records_in_the_same_batches(
    load: Load, yml: WriteYml, offer: WriteOffer, shape: list[tuple[str, int]]
) -> None:
    offers = [
        offer(
            {"nameless": "", "same": "same"}.get(kind, f"o{number}"),
            price="x" if kind == "bad" else "5",
            description="d" * size,
        )
        for number, (kind, size) in enumerate(shape)
    ]
    content = yml(*offers)
    first, second = load(content, run=1), load(content, run=2)
    assert [batch.batch_id for batch in first.batches] == list(range(1, len(first.batches) + 1))
    assert [record.ordinal for record in first.records] == list(range(1, len(shape) + 1))
    assert {batch.run for batch in second.batches} <= {2}
    assert [list(batch.records) for batch in first.batches] == [list(batch.records) for batch in second.batches]
    assert run_digest(first.batches) == run_digest(second.batches)
    for batch in first.batches:
        assert len(batch.records) <= MAX_RECORDS
        assert len(batch.digest) == 16
        assert len(batch.records) == 1 or batch.ByteSize() < 2 * MAX_SOURCE_BYTES


def test_the_run_digest_knows_the_order_and_every_batch() -> None:
    digests = [bytes([n]) * 16 for n in range(3)]

    def over(parts: list[bytes]) -> bytes:
        digest = RunDigest()
        for part in parts:
            digest.add(part)
        return digest.value()

    assert len({over(digests), over(digests[::-1]), over(digests[:2]), over([])}) == 4


def test_the_content_hash_moves_with_the_content_alone(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    one = load(yml(offer("a"), offer("b"))).records
    moved = load(yml(offer("z"), offer("b"), offer("a"))).records
    changed = load(yml(offer("a", price="101"))).records
    assert one[0].content_hash == moved[2].content_hash
    assert one[0].content_hash != changed[0].content_hash
