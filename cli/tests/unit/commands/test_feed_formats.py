"""Output of `feed formats`, and its sample and schema files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classifeed.feeds.v1 import format_pb2

Snapshot = Callable[[str, Any], None]


@pytest.fixture
def formats(api: Any) -> Any:
    api.respond(
        "ListFormats",
        format_pb2.ListFormatsResponse(
            formats=[
                {
                    "name": "formats/yml",
                    "format": "yml",
                    "title": "YML (Yandex Market Language)",
                    "description": "Known by its root <yml_catalog>; most Russian shop systems write it, and most "
                    "market places read it.",
                    "files": ["FORMAT_FILE_KIND_SAMPLE", "FORMAT_FILE_KIND_SCHEMA"],
                },
                {"name": "formats/native", "format": "native", "title": "Our own", "description": "Root <feed>."},
            ]
        ),
    )
    api.respond("GetFormatFile", format_pb2.FormatFile(file_name="../yml.xml", content=b"<a/>\r\n"))
    return api


def test_list(formats: Any, terminal: Any, snapshot: Snapshot) -> None:
    snapshot("feed-formats", terminal("feed", "formats"))
    snapshot("feed-formats-json", terminal("feed", "formats", "yml", "--json"))
    unknown = terminal("feed", "formats", "cvs", "--json")
    assert (unknown.exit_code, unknown.document["error"]["reason"]) == (1, "FORMAT_NOT_FOUND")
    assert "yml, native" in unknown.document["error"]["message"]


def test_without_a_suite_the_way_to_start_one_is_named(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLASSIFEED_ADDRESS")
    ended = terminal("feed", "formats", "--data", "nowhere")
    assert ended.exit_code == 3
    shown = " ".join(ended.err.split())
    assert shown.startswith("classifeed: no suite runs in ")
    assert shown.endswith("nowhere: start one with `classifeed up --detach`")


def test_files_are_saved_as_they_are(formats: Any, terminal: Any, tmp_path: Path) -> None:
    sample, schema = tmp_path / "s.xml", tmp_path / "s.xsd"
    ended = terminal("feed", "formats", "yml", "--sample", str(sample), "--schema", str(schema), "--json")
    assert (ended.exit_code, sample.read_bytes(), schema.read_bytes()) == (0, b"<a/>\r\n", b"<a/>\r\n")
    assert [request.kind for request in formats.requests["GetFormatFile"]] == [1, 2]
    assert ended.document["files"][0] == {"format": "yml", "kind": "SAMPLE", "file": str(sample), "bytes": "6"}


def test_a_folder_gets_the_name_of_the_service_and_nothing_outside(formats: Any, terminal: Any, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    assert terminal("feed", "formats", "yml", "--sample", str(folder)).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in folder.iterdir()] == ["yml.xml"]


def test_no_file_is_overwritten(formats: Any, terminal: Any, tmp_path: Path) -> None:
    precious = tmp_path / "price.yml"
    precious.write_text("mine")
    ended = terminal("feed", "formats", "yml", "--sample", str(precious), "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (1, "FILE_EXISTS")
    assert precious.read_text() == "mine"
    nowhere = terminal("feed", "formats", "yml", "--sample", str(tmp_path / "no" / "f"), "--json")
    assert nowhere.document["error"]["reason"] == "FILE_NOT_WRITTEN"


def test_slips(formats: Any, terminal: Any, refusal: Any) -> None:
    assert terminal("feed", "formats", "--sample", "f").exit_code == 2
    assert terminal("feed", "formats", "Y M L").exit_code == 1
    formats.respond("GetFormatFile", refusal("NOT_FOUND", "FORMAT_FILE_NOT_FOUND", "yml has no schema."))
    ended = terminal("feed", "formats", "yml", "--schema", "never-made", "--json")
    assert (ended.exit_code, Path("never-made").exists()) == (1, False)
