"""The searcher's service with a new index: `python -m bench.search.service FOLDER KEYS DOCUMENTS`.

Once it serves, it prints a JSON line with its port and the time that filling the index took. Lines on stdin: `index
0.5` starts to index changed documents as the sink does, for that share of the time; `rest` stops it. The service
confirms each by a line.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server

from bench.kit.generated_documents import generate_documents, pieces
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.index_queue_service_pb2 import INDEX_QUEUE_MAIN
from classifeed.search.v1.search_service_pb2_grpc import add_SearchServiceServicer_to_server
from classifeed_common.auth import KeyStore
from classifeed_common.kafka import Record
from classifeed_common.rpc.health import Health
from classifeed_common.rpc.server import build_server
from classifeed_domain.document_shards import hash_of, shard_of
from classifeed_domain.policy import POLICY
from classifeed_indexer.domain.conversion import Converter
from classifeed_offers.domain.documents import CLIENT, schema
from classifeed_searcher.app.search_documents import SearchDocuments
from classifeed_searcher.consumers.index_sink import IndexSink
from classifeed_searcher.parts import SWITCH_S
from classifeed_searcher.rpc.search_service import SearchService
from classifeed_searcher.settings import SearcherSettings
from classifeed_searcher.store.generation import IndexGeneration
from classifeed_searcher.store.live_index import LiveIndex

_COMMIT_EVERY: Final = 50_000
_CHANGED: Final = 20_000
_BATCH: Final = 500


class Changes:
    """New versions of documents, as they come from the topic."""

    def __init__(self, generation: IndexGeneration, documents: int) -> None:
        self._generation = generation
        self._sink = IndexSink(generation)
        converter = Converter(schema())
        self._messages = [converter.convert(each) for each in generate_documents(min(documents, _CHANGED), version=2)]
        self._idx = 0
        self._task: asyncio.Task[None] | None = None
        self.taken = 0

    def start(self, share: float) -> None:
        """Start to index them for a share of the time, with a commit for every batch."""
        self._task = asyncio.create_task(self._run(share))

    async def stop(self) -> None:
        """Stop indexing."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _run(self, share: float) -> None:
        while True:
            for messages in pieces(self._messages, _BATCH):
                started = time.perf_counter()
                write = self._generation.open_write()
                # The consumer decodes in a thread, too.
                records = await asyncio.to_thread(self._records, messages)
                await self._sink(write, records)
                await asyncio.to_thread(self._generation.commit, write, {})
                self.taken += len(messages)
                await asyncio.sleep((time.perf_counter() - started) * (1 - share) / share)

    def _records(self, messages: Sequence[IndexDocument]) -> list[Record]:
        return [self._record(message) for message in messages]

    def _record(self, message: IndexDocument) -> Record:
        self._idx += 1
        message.fence, message.queue, message.idx = 1, INDEX_QUEUE_MAIN, self._idx
        message.shard = shard_of(hash_of(message.pk))
        value = message.SerializeToString()
        return Record("bench", message.shard, self._idx, message.pk.encode(), value, {}, int(time.time() * 1000))


def fill(folder: Path, documents: int) -> tuple[IndexGeneration, float]:
    """Return an index with generated documents, and the seconds that filling it took."""
    generation = IndexGeneration.create(folder, schema())
    seconds = 0.0
    for batch in pieces(generate_documents(documents), _COMMIT_EVERY):
        started = time.perf_counter()
        write = generation.open_write()
        generation.fill(write, batch)
        generation.commit(write, {})
        seconds += time.perf_counter() - started
    return generation, seconds


async def serve(folder: Path, keys: Path, documents: int) -> None:
    """Serve until stdin ends."""
    sys.setswitchinterval(SWITCH_S)
    generation, filled_s = await asyncio.to_thread(fill, folder, documents)
    changes = Changes(generation, documents)
    live = LiveIndex(CLIENT)
    live.generation = generation
    settings = SearcherSettings(receiver_address="127.0.0.1:1", data_dir=folder)
    server = build_server(settings, POLICY, keys=KeyStore(keys))
    search = SearchDocuments({CLIENT: live})
    add_SearchServiceServicer_to_server(SearchService(search), server)
    health = Health([])
    health.set_serving(True)
    add_HealthServicer_to_server(health, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(json.dumps({"port": port, "filled_s": filled_s}), flush=True)
    while line := (await asyncio.to_thread(sys.stdin.readline)).split():
        await changes.stop()
        if line[0] == "index":
            changes.start(float(line[1]))
        print(json.dumps({"taken": changes.taken}), flush=True)
    await changes.stop()
    await server.stop(0)
    search.close()
    generation.close()


def main(arguments: Sequence[str]) -> None:
    """Run the service."""
    folder, keys, documents = arguments
    asyncio.run(serve(Path(folder), Path(keys), int(documents)))


if __name__ == "__main__":
    main(sys.argv[1:])
