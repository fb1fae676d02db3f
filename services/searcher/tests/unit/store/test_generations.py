"""The current generation after a crash, and unusable generations."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from classifeed.documents.v1 import document_pb2, index_document_pb2, schema_pb2
from classifeed.documents.v1.index_queue_service_pb2 import INDEX_QUEUE_MAIN
from classifeed_devkit.testing.texts import spoil_texts
from classifeed_searcher.domain.query import Word
from classifeed_searcher.engine.analysis import ANALYSIS
from classifeed_searcher.engine.writing.writer import LockedIndex
from classifeed_searcher.store.generation import MAIN, IndexGeneration
from classifeed_searcher.store.generations import Generations
from classifeed_searcher.store.state_file import UnusableIndex


def make(generations: Generations) -> IndexGeneration:
    generation = generations.create(schema_pb2.Schema(client="offers", epoch=1))
    write = generation.open_write()
    write.is_touched = True
    generation.commit(write, {})
    return generation


@pytest.fixture
def generations(tmp_path: Path) -> Generations:
    return Generations(tmp_path, "offers")


def folders(generations: Generations) -> set[str]:
    return {entry.name for entry in generations.folder.iterdir() if entry.is_dir()}


def test_current_generation_is_opened_and_leftovers_are_removed(generations: Generations) -> None:
    first = make(generations)
    generations.switch_to(first)
    second = make(generations)  # a crash before the switch
    for generation in (first, second):
        generation.close()
    opened = generations.open_current()
    assert opened.folder == first.folder
    assert folders(generations) == {first.folder.name}
    opened.close()


def test_a_repeated_element_is_one_debug_line_with_its_key(generations: Generations) -> None:
    generation = make(generations)
    write = generation.open_write()
    element = index_document_pb2.IndexDocument(
        client="offers", epoch=1, pk="a", version=1, shard=3, queue=MAIN, idx=7, fence=1
    )
    generation.apply(write, [element])
    with capture_logs() as logs:
        generation.apply(write, [element])
    assert logs == [
        {"log_level": "debug", "event": "searcher.element.dropped", "pk": "a", "shard": 3, "idx": 7, "why": "repeated"}
    ]
    generation.close()


def test_closed_index_lets_its_files_go_without_the_collector(generations: Generations) -> None:
    """The garbage collector never sees an index that a service opened at its start, because it is frozen."""
    schema = schema_pb2.Schema(client="offers", epoch=1)
    schema.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True)
    document = document_pb2.RawDocument(pk="a", version=1)
    document.fields.add(name="title").values.add(string_value="диван")
    gc.disable()
    try:
        generation = generations.create(schema)
        write, folder = generation.open_write(), str(generation.folder)
        generation.fill(write, [document])
        generation.commit(write, {})
        assert generation.index.count(Word("диван"), []) == 1
        assert folder in Path("/proc/self/maps").read_text()
        generation.close()
        del generation
        assert folder not in Path("/proc/self/maps").read_text()
    finally:
        gc.enable()


def test_switch_names_the_next_generation(generations: Generations) -> None:
    first = make(generations)
    generations.switch_to(first)
    second = make(generations)
    generations.switch_to(second)
    first.close()
    second.close()  # a crash after the switch, before the first one was removed
    opened = generations.open_current()
    assert opened.folder == second.folder
    assert folders(generations) == {second.folder.name}
    opened.close()


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("empty folder", "is empty"),
        ("no current", "current.json is missing"),
        ("no state", "state.json is missing"),
        ("half a state", "cannot be read"),
        ("state of another kind", "cannot be read"),
        ("other format", "format 1, this release reads 2"),
        ("words of the release before", "version 1 of the text analysis"),
        ("no index", "has no index"),
        ("damaged index", "cannot be opened"),
        ("no schema", "cannot be opened"),
        ("index of the release before", "current.json is missing"),
    ],
)
def test_unusable_index_says_why(generations: Generations, damage: str, why: str) -> None:
    generation = make(generations)
    generations.switch_to(generation)
    generation.close()
    state, current = generation.state_path, generations.folder / "current.json"
    match damage:
        case "empty folder":
            current.unlink()
            for path in sorted(generation.folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            generation.folder.rmdir()
        case "no current":
            current.unlink()
        case "no state":
            state.unlink()
        case "half a state":
            state.write_text(state.read_text()[:-5])
        case "state of another kind":
            state.write_text(json.dumps({"format": 2, "analysis": ANALYSIS, "positions": "none"}))
        case "other format":
            state.write_text(json.dumps({"format": 1, "positions": [], "watermarks": {}}))
        case "words of the release before":
            state.write_text(json.dumps({"format": 2, "positions": [], "watermarks": {}, "refused": {}}))
        case "no index":
            (generation.folder / "index" / "meta.json").unlink()
        case "damaged index":
            (generation.folder / "index" / "meta.json").write_text("{}")
        case "no schema":
            (generation.folder / "schema.binpb").unlink()
        case "index of the release before":
            current.unlink()
            (generations.folder / "state.json").write_text(json.dumps({"format": 1}))
    with pytest.raises(UnusableIndex, match=why):
        generations.open_current()


def test_folder_has_one_process(generations: Generations, tmp_path: Path) -> None:
    generations.lock()
    generations.lock()
    other = Generations(tmp_path, "offers")
    with pytest.raises(LockedIndex, match="another process"):
        other.lock()
    generations.unlock()
    other.lock()
    other.unlock()


def test_nul_in_any_text_of_a_document_stops_no_writer(tmp_path: Path) -> None:
    schema = schema_pb2.Schema(client="offers", epoch=1)
    schema.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True, analyzer="ANALYZER_RU_EN")
    schema.fields.add(name="seller", type="FIELD_TYPE_STRING", indexed=True, stored=True, facet=True)
    document = index_document_pb2.IndexDocument(
        client="offers",
        epoch=1,
        pk="a",
        version=1,
        action=document_pb2.DOCUMENT_ACTION_UPSERT,
        fence=1,
        queue=INDEX_QUEUE_MAIN,
    )
    for name in ("title", "seller"):
        document.fields.add(name=name).values.add(string_value="диван")
    generation = IndexGeneration.create(tmp_path / "generation", schema)
    spoiled = dict(spoil_texts(document))
    assert {"pk", "fields[0].values[0].string_value", "fields[1].values[0].string_value"} <= spoiled.keys()
    for idx, wrong in enumerate(spoiled.values(), start=1):
        wrong.idx = idx
        write = generation.open_write()
        if generation.apply(write, [wrong]):
            generation.roll_back(write)
            write = generation.open_write()
            generation.refuse_element(write, wrong)
        generation.commit(write, {})
    generation.close()
    opened = IndexGeneration.open(generation.folder)
    found = opened.index.get("a\0b")
    assert found is not None
    assert found.version == 1
    opened.close()
