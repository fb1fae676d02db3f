"""A search process: searches that were cancelled, and searches that end in a panic of the engine."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.search.v1.search_service_pb2 import SearchRequest
from classifeed_searcher.app.search_index import PreparedSearch
from classifeed_searcher.searching import worker
from classifeed_searcher.searching.wire import Reply, Request
from classifeed_searcher.store.generation import IndexGeneration


@pytest.fixture
def long_search(tmp_path: Path) -> Iterator[Request]:
    """Yield the request for a search of an empty index that runs in a thread."""
    generation = IndexGeneration.create(tmp_path / "generation", Schema(client="offers", epoch=1))
    content = SearchRequest(client="offers", page_size=51).SerializeToString()
    yield Request(1, "offers", str(generation.folder), 0, content)
    generation.close()


def test_search_that_nobody_waits_for_any_more_is_never_made(long_search: Request) -> None:
    replies: list[Reply] = []
    pending: dict[int, Future[None]] = {}
    is_free = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        try:
            threads.submit(is_free.wait)
            for request in (long_search, long_search._replace(content=None)):
                worker._handle(request, {}, replies.append, threads, pending)
            assert replies == [Reply(1, failure="cancelled")]
        finally:
            is_free.set()
    assert len(replies) == 1
    assert not pending


class Panic(BaseException):
    """Like a panic of the engine, it is not an Exception."""


@pytest.mark.parametrize(("fault", "exits"), [(Panic("no memory"), []), (MemoryError("no memory"), [1])])
def test_search_that_the_engine_does_not_survive_gets_its_reply_at_once(
    long_search: Request, monkeypatch: pytest.MonkeyPatch, fault: BaseException, exits: list[int]
) -> None:
    """The service must not try it: the engine panics, among others, where it gets no memory. A process without memory
    ends, as it would fail again.
    """
    ended: list[int] = []

    def run() -> bytes:
        raise fault

    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(worker, "prepare_search", lambda *_: PreparedSearch(is_short=False, run=run))
    replies: list[Reply] = []
    with ThreadPoolExecutor(1) as threads:
        worker._handle(long_search, {}, replies.append, threads, {})
    assert replies == [Reply(1, failure=f"{type(fault).__name__}: no memory", has_begun=True)]
    assert ended == exits
