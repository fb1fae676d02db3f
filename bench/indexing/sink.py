"""Documents from the registry into the index: by indexer, Kafka and searcher, and by a bare loop over the engine."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import tantivy

from bench.generated_documents import generate_documents, pieces
from bench.indexing.installation import Installation, spent
from classifeed.search.v1.search_service_pb2 import GetIndexStatusRequest
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub
from classifeed_offers.domain.documents import CLIENT, schema
from classifeed_searcher.engine.analysis import build_analyzers
from classifeed_searcher.engine.fields import PK, SOURCE, build_index_schema

_POLL_S: Final = 0.02
_LIMIT_S: Final = 900.0
# The rate counts from here on: leases and connections exist by then.
_BEGUN: Final = 0.1
_HEAP_BYTES: Final = 64_000_000


class Indexed(NamedTuple):
    """Figures of indexing.

    Attributes:
        rate: documents a second.
        cpu_us: CPU of each process, in µs a document.
        commits: number of commits of the index.
    """

    rate: float
    cpu_us: dict[str, float]
    commits: int

    @property
    def total_us(self) -> float:
        """CPU of all processes, in µs a document."""
        return sum(self.cpu_us.values())


async def measure_hop(installation: Installation, documents: int) -> Indexed:
    """Resume the indexer, and return the figures until a search finds all documents.

    Raises:
        RuntimeError: a search does not find all documents within 15 minutes.
    """
    seen: list[tuple[float, int]] = []
    async with installation.channel("searcher", "operator") as channel:
        searcher = SearchServiceStub(channel)
        before, started = installation.cpu(), time.perf_counter()
        installation.resume("indexer")
        while not seen or seen[-1][1] < documents:
            status = await searcher.GetIndexStatus(GetIndexStatusRequest(client=CLIENT))
            if not seen or status.documents != seen[-1][1]:
                seen.append((time.perf_counter(), status.documents))
            if time.perf_counter() > started + _LIMIT_S:
                raise RuntimeError(f"{status.documents} of {documents} documents were found within {_LIMIT_S:g} s")
            await asyncio.sleep(_POLL_S)
    used = spent(before, installation.cpu(), documents)
    begun = next((at, count) for at, count in seen if count >= _BEGUN * documents)
    end = seen[-1]
    rate = (end[1] - begun[1]) / (end[0] - begun[0]) if end != begun else documents / (end[0] - started)
    return Indexed(rate, used, sum(1 for _ in pairwise(seen)))


def measure_bare(documents: int, commit_every: int) -> Indexed:
    """Return the figures of a loop over the engine, in a new process."""
    command = [sys.executable, "-m", "bench.indexing.sink", str(documents), str(commit_every)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Indexed(found["rate"], {"engine": found["cpu_us"]}, found["commits"])


def _index_bare(documents: int, commit_every: int) -> dict[str, Any]:
    """Put documents into an index by their keys, with `json` to decode and the engine's API to compose and write."""
    bodies = [(document.pk, document.body) for document in generate_documents(documents)]
    engine_schema = build_index_schema(schema())
    skipped = {"url", "picture", "updated"}
    commits = 0
    with tempfile.TemporaryDirectory(prefix="cf-bench-") as folder:
        index = tantivy.Index(engine_schema, path=str(Path(folder)))
        for name, analyzer in build_analyzers().items():
            index.register_tokenizer(name, analyzer)
        writer = index.writer(_HEAP_BYTES, 1)
        started, cpu = time.perf_counter(), time.process_time()
        for piece in pieces(bodies, commit_every):
            for pk, body in piece:
                values = {name: value for name, value in json.loads(body).items() if name not in skipped}
                values |= {PK: pk, SOURCE: body.encode()}
                writer.delete_documents_by_term(PK, pk)
                writer.add_document(tantivy.Document.from_dict(values, engine_schema))
            writer.commit()
            index.reload()
            commits += 1
        took = time.perf_counter() - started
        writer.wait_merging_threads()  # merges count, as in the searcher, and must end before the folder is removed
        used = time.process_time() - cpu
    return {"rate": documents / took, "cpu_us": used / documents * 1e6, "commits": commits}


if __name__ == "__main__":
    print(json.dumps(_index_bare(int(sys.argv[1]), int(sys.argv[2]))))
