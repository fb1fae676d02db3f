"""Opens the files of an index, for searches or for writes; one process may search while another writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import tantivy

from classifeed.documents.v1 import schema_pb2
from classifeed_searcher.engine.analysis import build_analyzers
from classifeed_searcher.engine.fields import build_index_schema

# The engine decompresses a whole block for each hit. Its default of 16 KB needs 17 µs, 4 KB need 10 µs, but make the
# index a tenth larger.
_STORE_BLOCK_BYTES: Final = 4096


def open_index(folder: Path, schema: schema_pb2.Schema) -> tantivy.Index:
    """Return the index in a folder, with the analyzers of its fields registered; a missing index is created.

    Raises:
        ValueError: the files are not an index of this schema.
    """
    folder.mkdir(parents=True, exist_ok=True)
    index = _open_or_make(folder, build_index_schema(schema))
    for name, analyzer in build_analyzers().items():
        index.register_tokenizer(name, analyzer)
    return index


def _open_or_make(folder: Path, schema: tantivy.Schema) -> tantivy.Index:
    """Open or create an index; the settings of a new one can only be set in its file, while it is empty."""
    made = tantivy.Index(schema, path=str(folder))
    file = folder / "meta.json"
    meta = json.loads(file.read_text())
    if meta["segments"] or meta["index_settings"]["docstore_blocksize"] == _STORE_BLOCK_BYTES:
        return made
    meta["index_settings"]["docstore_blocksize"] = _STORE_BLOCK_BYTES
    written = file.with_suffix(".new")
    written.write_text(json.dumps(meta))
    written.replace(file)  # atomic: if the process dies here, the index can still be opened
    return tantivy.Index.open(str(folder))
