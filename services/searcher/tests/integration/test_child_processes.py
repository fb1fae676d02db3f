"""The searcher's child processes in `classifeed status`."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_UPSERT
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_devkit.testing.recovery import until
from classifeed_searcher import bootstrap, parts
from classifeed_searcher.settings import SearcherSettings
from classifeed_searcher.store.generations import Generations


async def test_status_names_a_stopped_writer_that_has_nothing_to_do_whatever_the_roles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index writer is idle most of the time."""
    made: list[Generations] = []

    class Noted(Generations):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr(parts, "Generations", Noted)
    settings = SearcherSettings(
        receiver_address="127.0.0.1:1", kafka_bootstrap="127.0.0.1:1", data_dir=tmp_path, drain_notice_s=0
    )
    runner = bootstrap.build(settings)
    stop = asyncio.Event()
    running = asyncio.create_task(runner.run(stop, {"serve"}))
    generation = made[0].create(Schema(client="offers", epoch=1))
    try:
        await asyncio.to_thread(generation.index.apply, [IndexDocument(pk="a", action=DOCUMENT_ACTION_UPSERT)])
        pid = generation.writer.pid
        assert pid is not None

        def are_named(*expected: str) -> bool:
            return running.done() or set(runner.blocked.get("watch-children", {})) == set(expected)

        os.kill(pid, signal.SIGSTOP)
        await until(partial(are_named, f"index writer of offers (process {pid})"))
        os.kill(pid, signal.SIGCONT)
        await until(are_named)
    finally:
        generation.close()
        stop.set()
    assert await running == 0
