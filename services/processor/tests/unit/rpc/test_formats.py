"""Callers list the formats, and take their samples and schemas."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1 import format_pb2
from classifeed.feeds.v1.format_pb2 import GetFormatFileRequest, ListFormatsRequest
from classifeed_common.errors import NotFound
from classifeed_feeds.formats.registry import FORMATS
from classifeed_processor.rpc.task_service.formats import FormatMethods

SAMPLE, SCHEMA_FILE = format_pb2.FORMAT_FILE_KIND_SAMPLE, format_pb2.FORMAT_FILE_KIND_SCHEMA


async def test_formats_and_their_files_are_given_to_callers() -> None:
    service = FormatMethods()
    formats = (await service.ListFormats(ListFormatsRequest(), None)).formats  # type: ignore[arg-type]
    assert [(each.name, each.format) for each in formats] == [(f"formats/{each.name}", each.name) for each in FORMATS]
    for each in formats:
        assert each.title
        assert each.description
        assert SAMPLE in each.files
        for kind in each.files:
            file = await service.GetFormatFile(GetFormatFileRequest(name=each.name, kind=kind), None)  # type: ignore[arg-type]
            assert file.content.startswith(b"<?xml")
            assert file.file_name.endswith(".xsd" if kind == SCHEMA_FILE else ".xml")
    assert [each.format for each in formats if SCHEMA_FILE in each.files] == ["native", "yml"]


@pytest.mark.parametrize(("name", "kind"), [("formats/nothing", SAMPLE), ("formats/google_rss", SCHEMA_FILE)])
async def test_what_there_is_not_is_not_found(name: str, kind: format_pb2.FormatFileKind) -> None:
    with pytest.raises(NotFound) as caught:
        await FormatMethods().GetFormatFile(GetFormatFileRequest(name=name, kind=kind), None)  # type: ignore[arg-type]
    assert name in str(caught.value)
