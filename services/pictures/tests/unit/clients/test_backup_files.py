"""Manifests, rows in Parquet, retention of backups, and the changes of a state by a restore."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_pictures.clients.backup_rows import RowWriter, check_file, read_pages
from classifeed_pictures.domain.backups import (
    BackupFault,
    BackupFile,
    Manifest,
    Stand,
    is_name,
    lowest,
    name_at,
    removable,
    time_of,
)
from classifeed_pictures.domain.lifecycle.states import Holding
from classifeed_pictures.domain.restoring import Renewal
from classifeed_pictures.store.backups.backup_columns import SHARDED, WHOLE, columns_of, is_json, names_of, schema_of
from classifeed_pictures.store.states.records import pack_holdings, unpack_holdings

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
NUMBER = 1_000_000


def stand(partition: int, following: int, topic_id: str = "t") -> Stand:
    return Stand("pictures", "pictures.events.v1", partition, topic_id, following)


def manifest(name: str = name_at(NOW)) -> Manifest:
    files = (BackupFile("pictures", "00000-pictures.parquet", "ab", 10, 3), BackupFile("pictures", "1", "cd", 5, 4))
    return Manifest(name, NOW, "canonical@1", 2, 2, 77, (stand(0, 5), stand(1, 6)), files)


def test_a_manifest_says_what_was_written() -> None:
    written = manifest()
    assert Manifest.from_json(written.name, written.to_json()) == written
    assert (written.rows_of("pictures"), written.rows_of("other"), written.size_bytes) == (7, 0, 15)
    assert written.began_at == NOW


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", manifest().to_json()[:-5], manifest().to_json().replace(b'"format": 1', b'"format": 2'),
        manifest().to_json().replace(b'"rows"', b'"lines"'), manifest(name_at(NOW + timedelta(hours=1))).to_json(),
    ],
)  # fmt: skip
def test_what_is_no_manifest_of_the_backup_is_refused(data: bytes) -> None:
    with pytest.raises(BackupFault, match=name_at(NOW)):
        Manifest.from_json(name_at(NOW), data)


def test_names_are_times_and_sort_by_them() -> None:
    names = [name_at(NOW + timedelta(microseconds=step)) for step in (0, 1, 10, 1_000_000)]
    assert names == sorted(names)
    assert [time_of(name) for name in names[:2]] == [NOW, NOW + timedelta(microseconds=1)]
    assert all(map(is_name, names))
    assert not any(map(is_name, ("", "x", names[0] + "x", "../" + names[0], "20269925T120000000000Z")))


def test_the_lowest_stand_counts_in_each_partition() -> None:
    assert lowest([stand(1, 9), stand(0, 5), stand(1, 8), stand(0, 7)]) == (stand(0, 5), stand(1, 8))
    # Offsets of another topic cannot be compared.
    assert lowest([stand(0, 3), stand(0, 9, "made again")]) == (stand(0, 9, "made again"),)


def test_complete_backups_beyond_the_newest_go_and_what_was_given_up() -> None:
    old, newer, newest = (name_at(NOW - timedelta(days=days)) for days in (9, 8, 7))
    given_up, under_way = name_at(NOW - timedelta(days=2)), name_at(NOW - timedelta(hours=23))
    begun = [old, newer, newest, given_up, under_way]
    assert removable([old, newer, newest], begun, kept=2, now=NOW) == [old, given_up]
    assert removable([old], [old], kept=2, now=NOW) == []


@pytest.mark.parametrize("table", [*SHARDED, *WHOLE])
def test_every_column_comes_back_as_it_was(table: str, tmp_path: Path) -> None:
    samples: dict[str, list[Any]] = {
        "binary": [b"\x00\xff", b""], "string": ["ключ", ""], "bool": [True, False], "int64": [2**62, -1],
        "int32": [2**31 - 1, 0], "int16": [7, -7], "timestamp[us, tz=UTC]": [NOW, NOW + timedelta(microseconds=1)],
    }  # fmt: skip
    schema = schema_of(table)
    rows = [
        [
            None if column.nullable and turn else samples[str(field.type)][turn]
            for column, field in zip(columns_of(table), schema, strict=True)
        ]
        for turn in (0, 1)
    ]
    writer = RowWriter(tmp_path / "f", schema)
    writer.write(rows[:1])
    writer.write(rows[1:])
    file = writer.close(table, "f")
    check_file(tmp_path / "f", file)
    read = [list(row.values()) for page in read_pages(tmp_path / "f", file) for row in page]
    assert read == rows
    assert names_of(table) == schema.names


def test_columns_that_the_server_makes_are_left_out() -> None:
    assert "id" not in names_of("outbox")
    assert {column.name for column in columns_of("stored_pictures") if is_json(column)} == {"pieces"}


def test_a_file_that_is_another_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f"
    writer = RowWriter(path, schema_of("namespaces"))
    writer.write([["offers", "[]", "[]", 0, NOW]])
    file = writer.close("namespaces", "namespaces.parquet")
    with pytest.raises(BackupFault, match=r"namespaces\.parquet is damaged: it has 1 rows"):
        check_file(path, replace(file, rows=2))
    content = path.read_bytes()
    for wrong in (content[:-1], content[:50] + b"\x00" + content[51:], b""):
        path.write_bytes(wrong)
        with pytest.raises(BackupFault, match=r"namespaces\.parquet is damaged"):
            check_file(path, file)
    path.write_bytes(b"no Parquet")
    with pytest.raises(BackupFault, match=r"namespaces\.parquet cannot be read"):
        list(read_pages(path, file))


def state(**holdings: Holding) -> dict[str, Any]:
    return {
        "url": "u", "is_put": False, "revision": 3, "attempt": 40, "next_attempt_at": None, "delete_mark_at": NOW,
        "holdings": pack_holdings(holdings),
    }  # fmt: skip


def test_pictures_stay_under_the_number_of_the_restore_and_orders_are_due_again() -> None:
    info = PictureInfo(namespace="offers", group_id=7, name="n")
    failure = LoadFailure(code="PICTURE_QUOTA_EXCEEDED")
    row, held = Renewal(NUMBER, NOW, keeps_marks=True).state(
        state(
            offers=Holding(30, 40, None, False, info, 35),
            cards=Holding(30, 39, NOW - timedelta(minutes=5)),
            shops=Holding(30, 38, None, True, None, 0, failure, NOW + timedelta(days=1), 3),
        )
    )
    assert held == [("offers", 7, "n", "u", False)]
    holdings = unpack_holdings(row["holdings"])
    assert holdings["offers"] == Holding(NUMBER, NUMBER, None, False, info, NUMBER)
    assert holdings["cards"] == Holding(NUMBER, 39)
    assert holdings["shops"] == Holding(NUMBER, 38, None, True, None, 0, failure, NOW + timedelta(days=1), 3)
    assert (row["attempt"], row["revision"], row["next_attempt_at"]) == (NUMBER, NUMBER, NOW)
    assert row["delete_mark_at"] == NOW


def test_marks_go_when_events_are_lost_and_nothing_is_due_that_was_not() -> None:
    info = PictureInfo(namespace="offers", group_id=7, name="n")
    row, _ = Renewal(NUMBER, NOW, keeps_marks=False).state(state(offers=Holding(1, 2, NOW, False, info, 2)))
    assert row["delete_mark_at"] is None
    assert row["next_attempt_at"] is None
    assert unpack_holdings(row["holdings"])["offers"].ordered_at is None
