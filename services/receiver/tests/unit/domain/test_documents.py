from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

from classifeed_receiver.domain.documents import (
    CONFLICT,
    Acknowledged,
    Freshness,
    NewDocument,
    Outcome,
    Retry,
    ShardPosition,
    Stale,
    Status,
    StoredDocument,
    judge,
    newest_positions,
    select_candidates,
)

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def document(epoch: int, version: int, after_s: int = 0, *, pk: str = "a", content: bytes = b"x") -> NewDocument:
    moment = NOW + timedelta(seconds=after_s)
    return NewDocument(pk, sum(pk.encode()), Freshness(epoch, version, moment), Status.LIVE, None, content)


def test_fresher_is_the_greater_epoch_then_version_then_timestamp() -> None:
    ordered = [document(1, 1), document(1, 1, 1), document(1, 2), document(1, 9), document(2, 1)]
    for order in permutations(ordered):
        assert select_candidates(order) == [ordered[-1]]


def test_candidates_are_sorted_by_hash_then_key_whatever_came_first() -> None:
    documents = [document(1, 1, pk=pk) for pk in ("ba", "c", "ab", "a", "b")]
    for order in permutations(documents):
        assert [candidate.pk for candidate in select_candidates(order)] == ["a", "b", "c", "ab", "ba"]


def test_first_of_equals_is_the_candidate() -> None:
    first, second = document(1, 1, content=b"x"), document(1, 1, content=b"y")
    assert select_candidates([first, second])[0] is first


def test_judgement_of_what_was_not_written() -> None:
    stored = StoredDocument(Freshness(2, 5, NOW), b"x")
    assert judge(document(1, 9), stored) == Stale()
    assert judge(document(2, 4), stored) == Stale()
    assert judge(document(2, 5, -1), stored) == Stale()
    assert judge(document(2, 5, content=b"x"), stored) == Acknowledged()
    assert judge(document(2, 5, content=b"y"), stored) is CONFLICT
    # Only a removed row explains these two cases; the document may be needed, so it is requested again.
    assert judge(document(2, 6), stored) == Retry()
    assert judge(document(2, 6), None) == Retry()


def test_newest_place_of_each_shard() -> None:
    outcomes: list[Outcome] = [
        Acknowledged(ShardPosition(3, 7)),
        Stale(),
        Acknowledged(),
        Acknowledged(ShardPosition(1, 2)),
        Acknowledged(ShardPosition(3, 8)),
        Acknowledged(ShardPosition(3, 5)),
    ]
    assert newest_positions(outcomes) == [ShardPosition(1, 2), ShardPosition(3, 8)]
