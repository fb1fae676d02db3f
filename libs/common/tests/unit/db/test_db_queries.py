from __future__ import annotations

import pytest

from classifeed_common.db import Queries, ddl
from classifeed_common.db.queries import parse_queries

TEXT = """
-- What this file is for.
-- name: first_one
-- why it is so
SELECT 1
 WHERE %(a)s = 1;

-- name: second
DELETE FROM things
"""


def test_blocks_become_statements_without_comments() -> None:
    assert parse_queries("f.sql", TEXT) == {
        "first_one": "SELECT 1\n WHERE %(a)s = 1",
        "second": "DELETE FROM things",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1", "f.sql:1: SQL before the first"),
        ("-- name: a\nSELECT 1\n-- name: a\nSELECT 2", "f.sql:3: the name 'a' is used twice"),
        ("-- name: a\n-- nothing\n", "the query 'a' is empty"),
    ],
)
def test_a_broken_file_says_where(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_queries("f.sql", text)


def test_an_unknown_query_names_those_that_are_there() -> None:
    queries = Queries("shop/queries.sql", parse_queries("shop/queries.sql", TEXT))
    with pytest.raises(KeyError, match=r"shop/queries\.sql has no query 'third'; it has first_one, second"):
        queries["third"]


def test_an_unknown_shared_table_names_those_that_are_there() -> None:
    with pytest.raises(LookupError, match=r"no shared table 'leases' in version 99; .*leases_v1"):
        ddl("leases", 99)
