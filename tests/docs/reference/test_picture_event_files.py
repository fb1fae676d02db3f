"""The page of event files has the columns, kinds and limits of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, get_args

import pytest

from classifeed.pictures.v1.events_pb2 import DELETE_REASON_GIVEN_UP, DeletePicture
from classifeed_pictures.clients import event_file_rows, gathering, parquet_event_rows
from classifeed_pictures.domain.event_rows import COLUMNS, REQUIRED, RowKind, WrongRow, read_row
from classifeed_pictures.domain.item_faults import (
    RECIPIENT_LIMIT_CHARS,
    REFERENCE_LIMIT_CHARS,
    fault_of_deletion,
    fault_of_request,
)

PAGE: Final = (Path(__file__).parents[3] / "docs/reference/picture-event-files.md").read_text("utf-8")
TABLE: Final = {
    name: (needed, what) for name, needed, what in re.findall(r"(?m)^\| `(\w+)` \| (.+?) \| (.+) \|$", PAGE)
}


def test_the_columns_are_those_of_the_code() -> None:
    assert tuple(TABLE) == COLUMNS
    assert {name: needed for name, (needed, _) in TABLE.items()} == {
        **dict.fromkeys(REQUIRED, "always"),
        **dict.fromkeys(("namespace", "recipient"), "`requested`"),
        **dict.fromkeys(("reference", "event_time"), "–"),
    }
    row = dict.fromkeys(COLUMNS, "") | {"url": "https://shop.example/1.jpg", "kind": "delete"}
    read_row(row)
    for column in REQUIRED:
        with pytest.raises(WrongRow):
            read_row(row | {column: ""})
    assert fault_of_request("", "seller", "") is not None
    assert fault_of_request("offers", "", "") is not None
    assert fault_of_request("offers", "seller", "") is None
    assert fault_of_deletion(DeletePicture()) is None
    assert fault_of_deletion(DeletePicture(reason=DELETE_REASON_GIVEN_UP, recipient="seller")) is None
    assert fault_of_deletion(DeletePicture(reason=DELETE_REASON_GIVEN_UP)) is not None


def test_kinds_and_limits_are_those_of_the_code() -> None:
    assert tuple(re.findall(r"`(\w+)`", TABLE["kind"][1])) == get_args(RowKind)
    assert f"up to {RECIPIENT_LIMIT_CHARS:,} characters" in TABLE["recipient"][1]
    assert f"up to {REFERENCE_LIMIT_CHARS:,} characters" in TABLE["reference"][1]
    assert f"a line has at most {event_file_rows._LINE_LIMIT_CHARS >> 20} MiB" in PAGE
    assert f"a value has at most {gathering.VALUE_LIMIT >> 10} KiB" in PAGE
    assert f"at most {parquet_event_rows._GROUP_LIMIT_BYTES >> 20} MiB of memory" in PAGE
    assert f"slice of {gathering.BATCH_ROWS:,} rows" in PAGE
