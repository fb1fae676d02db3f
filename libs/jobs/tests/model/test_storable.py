"""Limits of stored values, and cleaning of values that exceed them."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed_jobs import NotStorable, Progress, bounded_key
from classifeed_jobs.model.storable import MAX_JSON_BYTES, MAX_KEY, clean_json, clean_text, json_text


def test_json_has_a_size_and_no_foreign_objects() -> None:
    assert json_text("args", {"a": "Ж" * (MAX_JSON_BYTES // 2 - 10)})
    with pytest.raises(NotStorable, match="bytes of JSON, more than 1,048,576: store the data in a table or a file"):
        json_text("args", {"a": "Ж" * (MAX_JSON_BYTES // 2)})
    with pytest.raises(NotStorable, match="is no JSON"):
        json_text("args", {"a": object()})
    circular: list[Any] = []
    circular.append(circular)
    with pytest.raises(NotStorable, match="nested deeper"):
        json_text("args", circular)


def test_messages_are_cleaned() -> None:
    assert clean_text("a\0b\ud800c" + "x" * 9000) == "a\ufffdb\ufffdc" + "x" * 3995


def test_progress_is_cleaned() -> None:
    detail = {"file": "a\udcff", "rate": float("nan"), "big": 1 << 2000, "at": ValueError("x"), "deep": [[1, (2,)]]}
    assert Progress(1, 3, detail).to_json() == {
        "processed": 1, "total": 3, "file": "a\ufffd", "rate": None, "big": None, "at": "x", "deep": [[1, [2]]],
    }  # fmt: skip
    nested: Any = 0
    for _ in range(50):
        nested = [nested]
    json_text("progress", clean_json({"nested": nested}))
    assert Progress(1, 3, {"rows": ["x" * 100] * 1000}).to_json() == {
        "processed": 1, "total": 3, "detail": "left out: it has more than 65,536 bytes",
    }  # fmt: skip


def test_long_keys_become_bounded_ones_that_differ() -> None:
    assert bounded_key("k" * MAX_KEY) == "k" * MAX_KEY
    keys = {bounded_key("k" * 2000 + end) for end in "ab"}
    assert {len(key) for key in keys} == {MAX_KEY}
    assert len(keys) == 2
