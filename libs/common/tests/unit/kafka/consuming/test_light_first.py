"""The order in which records of one poll are handled."""

from __future__ import annotations

from classifeed_common.kafka import Record
from classifeed_common.kafka.consuming.light_first import HEAVY_BYTES, light_first
from classifeed_common.kafka.positions import GroupPartition


def record(size: int) -> Record:
    return Record("topic", 0, 0, None, b"x" * size, {}, 0)


def part(number: int) -> GroupPartition:
    return GroupPartition("group", "topic", number)


def test_a_light_partition_goes_before_a_heavy_one_with_all_that_was_polled_of_each() -> None:
    heavy, light = [record(HEAVY_BYTES // 2)] * 3, [record(10), record(20)]
    assert light_first({part(0): heavy, part(1): light}) == [{part(1): light}, {part(0): heavy}]


def test_partitions_of_like_sizes_share_an_effect() -> None:
    parts = {part(number): [record(HEAVY_BYTES // size)] for number, size in enumerate((1, 2, 7))}
    assert light_first(parts) == [parts]


def test_a_poll_without_much_is_one_effect() -> None:
    parts = {part(0): [record(HEAVY_BYTES - 1)], part(1): [record(1)]}
    assert light_first(parts) == [parts]
    assert light_first({}) == []
