"""Splitting of protobuf messages into lists that fit into one message."""

from __future__ import annotations

from itertools import pairwise

from google.protobuf.wrappers_pb2 import StringValue
from hypothesis import given
from hypothesis import strategies as st

from classifeed_common.splitting import split_by_size


@given(st.lists(st.sampled_from([1, 1_000, 200_000, 499_000, 700_000]), max_size=250))
def test_lists_for_messages_have_all_in_order_and_are_small_and_few(sizes: list[int]) -> None:
    items = [StringValue(value="x" * size) for size in sizes]
    lists = list(split_by_size(items))
    assert [item for part in lists for item in part] == items
    for part in lists:
        assert 0 < len(part) <= 100
        assert len(part) == 1 or sum(item.ByteSize() for item in part) <= 500_000
    for part, (following, *_) in pairwise(lists):
        assert len(part) == 100 or sum(item.ByteSize() for item in (*part, following)) > 500_000
