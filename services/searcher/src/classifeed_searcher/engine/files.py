"""The files of an index, opened to search or to write it; both may happen at once, in different processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import tantivy

from classifeed.documents.v1 import schema_pb2
from classifeed_searcher.engine.analysis import build_analyzers
from classifeed_searcher.engine.fields import build_index_schema

# The engine decompresses a whole block for each hit: of 16 KB, as it makes them by itself, in 17 µs, of 4 KB in 10. The
# index is a tenth larger for it.
_STORE_BLOCK_BYTES: Final = 4096


def open_index(folder: Path, schema: schema_pb2.Schema, *, make: bool = True) -> tantivy.Index:
    """Return the index in a folder, with the analysis that its fields name.

    Args:
        folder: of its files.
        schema: of its documents.
        make: whether it is made where there is none.

    Raises:
        ValueError: the files are no index of this schema, or there is none and none is made.
    """
    if make:
        folder.mkdir(parents=True, exist_ok=True)
        index = _open_or_make(folder, build_index_schema(schema))
    else:
        index = tantivy.Index.open(str(folder))
    for name, analyzer in build_analyzers().items():
        index.register_tokenizer(name, analyzer)
    return index


def _open_or_make(folder: Path, schema: tantivy.Schema) -> tantivy.Index:
    """Open an index; its settings can be given in its file only, before anything is in it."""
    made = tantivy.Index(schema, path=str(folder))
    file = folder / "meta.json"
    meta = json.loads(file.read_text())
    if meta["segments"] or meta["index_settings"]["docstore_blocksize"] == _STORE_BLOCK_BYTES:
        return made
    meta["index_settings"]["docstore_blocksize"] = _STORE_BLOCK_BYTES
    written = file.with_suffix(".new")
    written.write_text(json.dumps(meta))
    written.replace(file)  # at once: a process that dies here leaves an index that opens
    return tantivy.Index.open(str(folder))
