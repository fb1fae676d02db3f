"""The embedded engine: Russian and English words, exact values, ranges, types."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import tantivy

from classifeed.documents.v1 import document_pb2, index_document_pb2, schema_pb2
from classifeed_domain.document_bodies import BodyCodec, native_value
from classifeed_searcher.app.suggest_query import suggest_query
from classifeed_searcher.domain.query import QueryError
from classifeed_searcher.domain.query_text import parse_query
from classifeed_searcher.engine.fields import DIGEST_A, DIGEST_B, SHARD
from classifeed_searcher.engine.index import Snapshot, Sums, TantivyIndex
from classifeed_searcher.engine.writing.writer import LockedIndex


def schema() -> schema_pb2.Schema:
    made = schema_pb2.Schema(client="offers", epoch=1)
    made.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True, analyzer="ANALYZER_RU_EN", boost=3)
    made.fields.add(name="external_id", type="FIELD_TYPE_STRING", indexed=True, stored=True, boost=2)
    made.fields.add(name="vendor", type="FIELD_TYPE_STRING", indexed=True)
    made.fields.add(name="price", type="FIELD_TYPE_DOUBLE", indexed=True, stored=True, sortable=True)
    made.fields.add(name="available", type="FIELD_TYPE_BOOL", indexed=True)
    made.fields.add(name="location", type="FIELD_TYPE_GEO_POINT", indexed=True)
    return made


def document(
    pk: str, title: str, price: float, *, version: int = 1, vendor: str = ""
) -> index_document_pb2.IndexDocument:
    made = index_document_pb2.IndexDocument(
        client="offers", epoch=1, pk=pk, version=version, action=document_pb2.DOCUMENT_ACTION_UPSERT
    )
    made.fields.add(name="title").values.add(string_value=title)
    made.fields.add(name="external_id").values.add(string_value=pk)
    if vendor:
        made.fields.add(name="vendor").values.add(string_value=vendor)
    made.fields.add(name="price").values.add(double_value=price)
    made.fields.add(name="available").values.add(bool_value=True)
    made.fields.add(name="location").values.add().geo_value.latitude = 55.7
    return made


def with_body(fields: index_document_pb2.IndexDocument) -> index_document_pb2.IndexDocument:
    made = index_document_pb2.IndexDocument()
    made.CopyFrom(fields)
    made.body = BodyCodec(schema()).body_of(fields.fields)
    made.ClearField("fields")
    return made


def with_fields(fields: index_document_pb2.IndexDocument) -> index_document_pb2.IndexDocument:
    return fields


FORMS = pytest.mark.parametrize("form", [with_body, with_fields])


@pytest.fixture(params=[with_body, with_fields])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TantivyIndex]:
    form = request.param
    made = TantivyIndex(tmp_path / "1", schema())
    made.apply([form(document("A-1", "Диван угловой кожаный", 100))])
    made.apply([form(document("B-2", "Картридж HP CE285A чёрный", 50))])
    made.apply([form(document("C-3", "Running shoes Nike", 70))])
    made.commit()
    yield made
    made.close()


def find(index: TantivyIndex, text: str, *, sort: str = "") -> list[str]:
    node = parse_query(text, frozenset(index.fields))
    found = index.search(node, [], sort_field=sort, descending=True, offset=0, limit=10)
    assert found.total == len(found.hits)
    return [hit.pk for hit in found.hits]


@pytest.mark.parametrize(
    ("text", "pks"),
    [
        ("дивана", ["A-1"]),
        ("угловые диваны", ["A-1"]),
        ("картриджи", ["B-2"]),
        ("чёрного", ["B-2"]),
        ("черный", ["B-2"]),
        ("shoe", ["C-3"]),
        ('"диван угловой"', ["A-1"]),
        ('"угловой диван"', []),
        ("картр*", ["B-2"]),
        ("диваны*", ["A-1"]),
        ("CE285A", ["B-2"]),
        ("C-3", ["C-3"]),
        ("external_id:A-1", ["A-1"]),
        ("external_id:a-1", ["A-1"]),
        ("external_id:a-11", []),
        ("price:[60 TO 80]", ["C-3"]),
        ("price:[* TO 60] OR shoes", ["C-3", "B-2"]),
        ("кожаный -диван", []),
        ("available:true shoes", ["C-3"]),
    ],
)
def test_query_finds(index: TantivyIndex, text: str, pks: list[str]) -> None:
    assert sorted(find(index, text)) == sorted(pks)


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyIndex]:
    """Open an index of goods whose names have many spellings."""
    made = TantivyIndex(tmp_path_factory.mktemp("codes") / "1", schema())
    goods = {
        "tyre": ("Шины Зима 195/65 R15 91Q", "Nord"),
        "other": ("Шины Зима 195/60 R15 91Q", "NORD"),
        "latin": ("Картридж TK-540M, 2.7K", "HP"),
        "cyrillic": ("Картридж ТК 540 М совместимый", "НР"),
        "mixed": ("Картридж TК540M (чёрный)", "Hewlett Packard"),
        "concrete": ("Бетон М-300 на гравии", ""),
        "screen": ('Монитор 19" Full HD', "Samsung"),
        "shop": ("Платье H&M / голубое", "H&M"),
        "typo": ("Принтер Cамсунг", ""),  # a Latin C
    }
    for pk, (title, vendor) in goods.items():
        made.apply([document(pk, title, 1, vendor=vendor)])
    made.commit()
    yield made
    made.close()


_CARTRIDGES = ["latin", "cyrillic", "mixed"]


@pytest.mark.parametrize(
    ("text", "pks"),
    [
        *[
            (f"картридж {code}", _CARTRIDGES)
            for code in ("TK540M", "tk-540m", "TK 540 M", "ТК540М", "ТК-540-М", "TК540M")
        ],
        ("TK540*", _CARTRIDGES),
        ("540", _CARTRIDGES),
        ("тк54*", _CARTRIDGES),
        ('"картридж тк 540"', _CARTRIDGES),
        ("TK541M", []),
        *[(size, ["tyre"]) for size in ("195/65R15", "195/65 R15", "195 65 R15", "195-65-r15", "шины 195/65R 15")],
        *[(mark, ["concrete"]) for mark in ("М300", "M300", "м-300", "M 300", "бетон M-300", "бетоны м300")],
        ("самсунг", ["typo"]),
        ("Cамсунг", ["typo"]),
        *[(f"платье {sign} голубое", ["shop"]) for sign in ("&", "/", "-", "+", "--", "&&", "№", "- /")],
        ("H & M", ["shop"]),
        ("H&M", ["shop"]),
        ("платье -&", ["shop"]),
        ("платье OR &", ["shop"]),
        ('монитор 19"', ["screen"]),
        ('"монитор', ["screen"]),
        ('монитор "', ["screen"]),
        ("title:& платье", ["shop"]),
        *[(f"vendor:{name}", ["tyre", "other"]) for name in ("nord", "NORD", "Nord")],
        *[(f"vendor:{name}", ["latin", "cyrillic"]) for name in ("hp", "HP", "нр", "НР", "hP")],
        ('vendor:"hewlett packard"', ["mixed"]),
        ("vendor:hew*", ["mixed"]),
        ("vendor:h&m", ["shop"]),
        ("vendor:nor", []),
    ],
)
def test_spellings_find_the_same(codes: TantivyIndex, text: str, pks: list[str]) -> None:
    assert sorted(find(codes, text)) == sorted(pks)


@pytest.mark.parametrize(
    ("text", "pks"),
    [
        ("диваны-кровати", ["S-1"]),
        ("диван-кровать", ["S-1"]),
        ("диваны кровати", ["S-1"]),
        ('"диванов-кроватей"', ["S-1"]),
        ("диван-кровать 160x200", ["S-1"]),
        ("диваны-кровати 160x200", ["S-1"]),
        ("кровать", ["S-1", "S-2"]),
        ("кроватью", ["S-1", "S-2"]),
        ("карта памяти", ["S-3"]),
        ("бокалы", ["S-4"]),
        ("диванов", ["A-1", "S-1"]),
        ("канат", []),
        ("крова", []),
        ("кроват", ["S-2"]),
    ],
)
def test_nouns_that_look_like_verbs_are_found_in_all_forms(index: TantivyIndex, text: str, pks: list[str]) -> None:
    titles = ("Диван-кровать 160x200", "Кровати детские", "Память, карта", "Бокал", "Каналы")
    for pk, title in zip(("S-1", "S-2", "S-3", "S-4", "S-5"), titles, strict=True):
        index.apply([document(pk, title, 1)])
    index.commit()
    assert sorted(find(index, text)) == pks


def test_a_name_as_it_was_requested_comes_first(codes: TantivyIndex) -> None:
    assert [find(codes, f"vendor:{name}")[0] for name in ("NORD", "Nord", "НР", "HP")] == [
        "other", "tyre", "cyrillic", "latin",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["&", "-", "/ +", '"', '""', "-&", "NOT &"])
def test_a_query_without_a_word_matches_nothing(codes: TantivyIndex, text: str) -> None:
    assert len(find(codes, text)) == codes.documents


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("картридж фиолетовый", (["фиолетовый"], [], "картридж", 3)),
        ('картридж & "цвет морской волны" TK540M', (['"цвет морской волны"'], [], "картридж & TK540M", 3)),
        ("фиолетовый", (["фиолетовый"], [], "", 0)),
        ("бирюзовый фиолетовый -картридж", (["бирюзовый", "фиолетовый"], [], "", 0)),
        ("картридж TK540M гравий", ([], ["гравий"], "картридж TK540M", 3)),
        ("картридж фиолетовый TK540M гравий", (["фиолетовый"], ["гравий"], "картридж TK540M", 3)),
        ("картридж TK 540 M qzxwv", (["qzxwv"], [], "картридж TK 540 M", 3)),
        ("шины 65 R qzxwv", (["qzxwv"], [], "шины 65 R", 1)),
        ("гравий монитор платье", None),
        ("vendor:nokia картридж", (["vendor:nokia"], [], "картридж", 3)),
        ("картридж -картридж", None),
        ("бетон OR фиолетовый", None),
        (" ".join(f"слово{n}" for n in range(13)), None),
    ],
)
def test_hint_names_the_word_without_a_match(
    codes: TantivyIndex, text: str, hint: tuple[list[str], list[str], str, int] | None
) -> None:
    given = suggest_query(codes, text, [])
    found = given and (list(given.unmatched), list(given.left_out), given.query, given.total)
    assert found == hint
    if given and given.query:
        assert len(find(codes, given.query)) == given.total


def test_hint_is_of_the_documents_that_meet_the_conditions(codes: TantivyIndex) -> None:
    def hint(vendor: str) -> list[str] | None:
        given = suggest_query(codes, "картридж чёрный", [codes.translator.term("vendor", vendor)])
        return list(given.unmatched) if given else None

    assert (hint("HP"), hint("Samsung"), hint("Nobody")) == (["чёрный"], ["картридж", "чёрный"], None)


def test_sort_by_a_field(index: TantivyIndex) -> None:
    assert find(index, "", sort="price") == ["A-1", "C-3", "B-2"]


def test_upsert_replaces_and_delete_removes(index: TantivyIndex) -> None:
    index.apply([document("A-1", "Кресло", 30, version=2)])
    removed = index_document_pb2.IndexDocument(client="offers", epoch=1, pk="C-3", version=2)
    removed.action = document_pb2.DOCUMENT_ACTION_DELETE
    index.apply([removed])
    assert find(index, "диван") == ["A-1"], "nothing is seen before the commit"
    index.commit()
    assert (find(index, "диван"), find(index, "кресла"), find(index, "shoes")) == ([], ["A-1"], [])
    hit = index.get("A-1")
    assert hit is not None
    assert hit.version == 2
    assert index.get("C-3") is None


def test_document_says_when_it_was_composed_and_when_it_was_taken_in(index: TantivyIndex) -> None:
    before = datetime.now(UTC)
    fresh = document("A-1", "Кресло", 30, version=2)
    fresh.timestamp.FromDatetime(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))
    index.apply([fresh])
    index.commit()
    hit, undated = index.get("A-1"), index.get("B-2")
    assert hit is not None
    assert undated is not None
    assert hit.compose_time == fresh.timestamp
    assert before <= hit.index_time.ToDatetime(tzinfo=UTC) <= datetime.now(UTC)
    assert not undated.HasField("compose_time")


def test_a_hit_is_shown_with_its_body_or_with_fields_however_it_was_kept(index: TantivyIndex) -> None:
    kept = [index.get("A-1"), index.get("A-1")]
    assert all(hit is not None for hit in kept)
    body, fields = (
        index.stored_hits.show(hit, is_body=is_body) for hit, is_body in zip(kept, (True, False), strict=True) if hit
    )
    stored = {"title": "Диван угловой кожаный", "external_id": "A-1", "price": 100.0}
    assert (json.loads(body.body), len(body.fields)) == (stored, 0)
    assert {each.name: native_value(each.values[0]) for each in fields.fields} == stored
    assert fields.body == ""


def test_a_field_that_came_later_stays_in_the_body(index: TantivyIndex) -> None:
    later = with_body(document("D-4", "Стол", 10))
    later.body = later.body.replace("{", '{"colour":"white",', 1)
    index.apply([later])
    index.commit()
    hit = index.get("D-4")
    assert hit is not None
    assert json.loads(index.stored_hits.show(hit, is_body=True).body)["colour"] == "white"


def test_a_beginning_finds_all_words_that_begin_so_however_many_there_are(tmp_path: Path) -> None:
    """The engine's phrase prefix query expands only 50 words."""
    index = TantivyIndex(tmp_path / "1", schema())
    words = ["".join(letters) for letters in itertools.product("бвк", repeat=5)]
    for number, word in enumerate(words):
        index.apply([document(f"A-{number}", f"к-фо{word} к{word}", 100)])
    index.commit()

    def count(text: str) -> int:
        return index.count(parse_query(text, frozenset(index.fields)), [])

    for beginning, expected in (("", 243), ("б", 81), ("бв", 27), ("бвкбв", 1), ("бвкбвк", 0)):
        assert count(f"title:к-фо{beginning}*") == expected
        assert count(f"title:фо{beginning}*") == expected
    index.close()


def test_a_phrase_with_too_short_a_beginning_is_explained(tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path / "1", schema())
    words = ("".join(letters) for letters in itertools.product("бвгджз", repeat=7))
    index.apply([document("A-1", "к-фо " + " ".join(itertools.islice(words, 20_000)), 100)])
    index.commit()
    with pytest.raises(QueryError, match="write more of that word") as caught:
        find(index, "title:к-б*")
    assert caught.value.position == 0
    assert find(index, "title:к-ф*") == ["A-1"]
    assert find(index, "title:б*") == ["A-1"]
    index.close()


@FORMS
def test_wrong_type_is_refused_and_the_writer_lives(
    index: TantivyIndex, form: Callable[[index_document_pb2.IndexDocument], index_document_pb2.IndexDocument]
) -> None:
    broken = document("D-4", "Стол", 10)
    broken.fields[-3].values[0].string_value = "дёшево"
    broken = form(broken)
    refused = index.apply([broken, document("E-5", "Стол", 10)])
    assert set(refused) == {0}
    assert "price" in refused[0]
    index.commit()
    assert find(index, "столы") == ["E-5"]


@pytest.mark.parametrize("text", ["price:cheap", "available:maybe", "price:[a TO b]", "price:5*", "vendor:[a TO z]"])
def test_value_of_the_wrong_type_in_a_query_is_placed(index: TantivyIndex, text: str) -> None:
    with pytest.raises(QueryError) as caught:
        find(index, text)
    assert caught.value.position > 1


def test_second_writer_is_refused(index: TantivyIndex, tmp_path: Path) -> None:
    with pytest.raises(LockedIndex):
        TantivyIndex(tmp_path / "1", schema())


def test_index_outlives_its_process(tmp_path: Path) -> None:
    first = TantivyIndex(tmp_path / "1", schema())
    first.apply([document("A-1", "Диван", 1)])
    first.commit()
    first.apply([document("B-2", "Диван", 1)])
    first.close()
    again = TantivyIndex(tmp_path / "1", schema())
    assert find(again, "диван") == ["A-1"]
    again.close()


def test_sums_are_exact_beyond_what_a_double_holds(tmp_path: Path) -> None:
    """Numbers of 52 bits simulate millions of documents with numbers of 32 bits."""
    builder = tantivy.SchemaBuilder()
    for name in (SHARD, DIGEST_A, DIGEST_B):
        builder.add_unsigned_field(name, fast=True)
    columns = builder.build()
    engine = tantivy.Index(columns, path=str(tmp_path))
    writer = engine.writer(num_threads=1)
    digests = [(shard, (number << 47) + 1, (1 << 52) - number) for shard in (0, 3, 63) for number in range(31)]
    for shard, a, b in digests:
        writer.add_document(tantivy.Document.from_dict({SHARD: shard, DIGEST_A: a, DIGEST_B: b}, columns))
    writer.commit()
    engine.reload()
    snapshot = Snapshot(engine.searcher(), columns, slice_width=1 << 47)
    wanted = {
        shard: Sums(31, sum(a for at, a, _ in digests if at == shard), sum(b for at, _, b in digests if at == shard))
        for shard in (0, 3, 63)
    }
    assert int(float(wanted[0].sum_b)) != wanted[0].sum_b, "a double does not hold it"
    assert snapshot.sums() == wanted
    assert snapshot.sums(1, 62) == {3: wanted[3]}


def test_stored_documents_are_in_small_blocks_after_every_commit_and_opening(tmp_path: Path) -> None:
    def block_bytes() -> int:
        return int(json.loads((tmp_path / "1" / "meta.json").read_text())["index_settings"]["docstore_blocksize"])

    for number in range(2):
        index = TantivyIndex(tmp_path / "1", schema())
        index.apply([document(f"A-{number}", "Диван", 100)])
        index.commit()
        assert block_bytes() == 4096
        assert len(find(index, "диван")) == number + 1
        index.close()
