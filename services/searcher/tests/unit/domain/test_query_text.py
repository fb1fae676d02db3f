"""The text form of queries: its meaning, and the positions of faults."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifeed_searcher.domain.query import AllOf, AnyOf, Between, Everything, NoneOf, Phrase, Prefix, QueryError, Word
from classifeed_searcher.domain.query_text import parse_query, split_query

FIELDS = frozenset({"title", "price"})


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", Everything()),
        ("   ", Everything()),
        ("диван", Word("диван", None, 1)),
        ("угловой диван", AllOf((Word("угловой", None, 1), Word("диван", None, 9)))),
        ("a AND b", AllOf((Word("a", None, 1), Word("b", None, 7)))),
        ("a OR b c", AnyOf((Word("a", None, 1), AllOf((Word("b", None, 6), Word("c", None, 8)))))),
        ("-a", NoneOf(Word("a", None, 2))),
        ("NOT a", NoneOf(Word("a", None, 5))),
        ("title:(a b)", AllOf((Word("a", "title", 8), Word("b", "title", 10)))),
        ('title:"a b"', Phrase("a b", "title", 7)),
        ("pri*", Prefix("pri", None, 1)),
        ("price:[100 TO *]", Between("price", "100", None, 7)),
        ("HP-123", Word("HP-123", None, 1)),
        ("12:30", Word("12:30", None, 1)),
        ('19" a 24"', AllOf((Word('19"', None, 1), Word("a", None, 5), Word('24"', None, 7)))),
        ('a "b', AllOf((Word("a", None, 1), Word("b", None, 4)))),
        ('"', Everything()),
        ('a -"b c"', AllOf((Word("a", None, 1), NoneOf(Phrase("b c", None, 4))))),
        ("a - b", AllOf((Word("a", None, 1), Word("-", None, 3), Word("b", None, 5)))),
        ("(a -)", AllOf((Word("a", None, 2), Word("-", None, 4)))),
        ('title:"', Word('title:"', None, 1)),
    ],
)
def test_text_means(text: str, tree: object) -> None:
    assert parse_query(text, FIELDS) == tree


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("(a b", 1, "never closed"),
        ("a) b", 2, "nothing opened"),
        ("a AND", 6, "ends where"),
        ("color:red", 1, "price, title"),
        ("price:[1 2]", 7, "[100 TO 500]"),
        ("[1 TO 2]", 1, "needs a field"),
        ("a OR OR b", 6, "a word was expected"),
        ("(" * 30 + "a" + ")" * 30, 22, "brackets and negations inside each other"),
        ("-" * 1_999 + "a", 22, "brackets and negations inside each other"),
        ("NOT " * 499 + "a", 85, "brackets and negations inside each other"),
    ],
)
def test_fault_is_named_with_its_place(text: str, position: int, words: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text, FIELDS)
    assert (caught.value.position, words in str(caught.value)) == (position, True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("a OR b c", []),
        ("a AND (b OR c) -d", ["a", "(b OR c)", "-d"]),
        ('title:a  "b c" price:[1 TO *] d*', ["title:a", '"b c"', "price:[1 TO *]", "d*"]),
        ("NOT a & b", ["NOT a", "&", "b"]),
    ],
)
def test_parts_that_must_all_match_are_as_written(text: str, parts: list[str]) -> None:
    assert [part.text for part in split_query(text, FIELDS)] == parts


@given(st.text(alphabet='ab:"()[]-* ANDORNT', max_size=40))
def test_any_text_is_a_tree_or_a_placed_fault(text: str) -> None:
    try:
        tree = parse_query(text, FIELDS)
    except QueryError as error:
        assert 1 <= error.position <= len(text) + 1
    else:
        assert tree is not None
        parts = split_query(text, FIELDS)
        if len(parts) > 1:
            assert tree == AllOf(tuple(part.node for part in parts))
