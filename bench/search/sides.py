"""The sides to compare with, called from the bench: the engine, SQLite FTS5, full text search of PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import psycopg
import tantivy
from psycopg import sql

from bench.kit.generated_documents import generate_documents
from bench.search.queries import PAGE, Query
from classifeed_searcher.engine.analysis import build_analyzers
from classifeed_searcher.engine.fields import SOURCE

_TEXTS: Final = ("title", "description", "category", "attributes")
_TITLE_WEIGHT: Final = 3.0


class Side(Protocol):
    """A search engine that returns a page of documents and the number of all matches."""

    def search(self, query: Query) -> int:
        """Read a page and return the number of matches."""
        ...


class Engine:
    """tantivy with the searcher's index and its own query parser; documents are read, not decoded."""

    def __init__(self, folder: Path) -> None:
        self._index = tantivy.Index.open(str(folder))
        for name, analyzer in build_analyzers().items():
            self._index.register_tokenizer(name, analyzer)
        self._searcher = self._index.searcher()

    def search(self, query: Query) -> int:
        """Read a page and return the number of matches."""
        if query.prefix:
            pattern = f"{query.prefix}.*"
            parts = [tantivy.Query.regex_query(self._index.schema, field, pattern) for field in _TEXTS]
            parsed = tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])
        else:
            parsed = self._index.parse_query(
                query.engine, list(_TEXTS), field_boosts={"title": _TITLE_WEIGHT}, conjunction_by_default=True
            )
        if query.sorted:
            found = self._searcher.search(parsed, PAGE, order_by_field="price", order=tantivy.Order.Asc)
        else:
            found = self._searcher.search(parsed, PAGE)
        for _, address in found.hits:
            self._searcher.doc(address).get_first(SOURCE)
        return int(getattr(found, "count", 0) or 0)


class Sqlite:
    """A table of FTS5 with the default ranking, without stemming."""

    def __init__(self, file: Path, documents: int) -> None:
        self._connection = sqlite3.connect(file)
        self._connection.execute(
            "CREATE VIRTUAL TABLE documents USING fts5"
            "(title, description, category, attributes, body UNINDEXED, price UNINDEXED)"
        )
        with self._connection:
            self._connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", _rows(documents))
            self._connection.execute("INSERT INTO documents(documents) VALUES ('optimize')")

    def search(self, query: Query) -> int:
        """Read a page and return the number of matches."""
        where = "documents MATCH ?" + (" AND price BETWEEN ? AND ?" if query.bounds else "")
        order = "price" if query.sorted else "rank"
        values: tuple[Any, ...] = (query.sqlite, *(query.bounds or ()))
        page = f"SELECT body FROM documents WHERE {where} ORDER BY {order} LIMIT {PAGE}"
        self._connection.execute(page, values).fetchall()
        count = f"SELECT count(*) FROM documents WHERE {where}"
        return int(self._connection.execute(count, values).fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


class Postgres:
    """A table with a weighted tsvector and a GIN index, ranked by ts_rank."""

    def __init__(self, dsn: str, documents: int) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._connection.execute("SET default_text_search_config = 'russian'")
        self._connection.execute(
            "CREATE TABLE documents (title text, description text, category text, attributes text, body text,"
            " price double precision, words tsvector GENERATED ALWAYS AS ("
            " setweight(to_tsvector('russian', title), 'A') ||"
            " to_tsvector('russian', description || ' ' || category || ' ' || attributes)) STORED)"
        )
        into = "COPY documents (title, description, category, attributes, body, price) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(into) as copy:
            for row in _rows(documents):
                copy.write_row(row)
        self._connection.execute("CREATE INDEX ON documents USING gin (words)")
        self._connection.execute("VACUUM ANALYZE documents")

    def search(self, query: Query) -> int:
        """Read a page and return the number of matches."""
        function, text = query.postgres
        where = sql.SQL("words @@ {}(%(text)s)").format(sql.Identifier(function))
        if query.bounds:
            where += sql.SQL(" AND price BETWEEN %(low)s AND %(high)s")
        low, high = query.bounds or (None, None)
        rank = sql.SQL("ts_rank(words, {}(%(text)s)) DESC").format(sql.Identifier(function))
        order = sql.SQL("price") if query.sorted else rank
        values = {"text": text, "low": low, "high": high}
        page = sql.SQL("SELECT body FROM documents WHERE {} ORDER BY {} LIMIT {}").format(where, order, PAGE)
        self._connection.execute(page, values).fetchall()
        count = sql.SQL("SELECT count(*) FROM documents WHERE {}").format(where)
        row = self._connection.execute(count, values).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _rows(documents: int) -> Iterator[tuple[Any, ...]]:
    for document in generate_documents(documents):
        values = json.loads(document.body)
        yield (*(values.get(name, "") for name in _TEXTS), document.body, values["price"])
