"""Named SQL: one `.sql` file with `-- name: foo` blocks, read once at import."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

_NAME = re.compile(r"^--\s*name:\s*(?P<name>[a-z][a-z0-9_]*)\s*$")


class Queries(Mapping[str, str]):
    """The statements of one file by name. Look them up at import, so that a wrong name fails at start."""

    def __init__(self, source: str, statements: Mapping[str, str]) -> None:
        self._source = source
        self._statements = dict(statements)

    def __getitem__(self, name: str) -> str:
        try:
            return self._statements[name]
        except KeyError:
            raise KeyError(f"{self._source} has no query {name!r}; it has {', '.join(self._statements)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)

    def __len__(self) -> int:
        return len(self._statements)


def load_queries(package: str, file: str = "queries.sql") -> Queries:
    """Return the named statements of `file` inside `package`.

    A block begins with a line `-- name: foo` and ends at the next one. Comment lines are not sent. Parameters are
    psycopg's `%(name)s`.

    Raises:
        FileNotFoundError: the package has no such file.
        ValueError: a name is used twice, a block is empty, or the file has SQL before the first name.
    """
    source = f"{package}/{file}"
    return Queries(source, parse_queries(source, files(package).joinpath(file).read_text(encoding="utf-8")))


def parse_queries(source: str, text: str) -> dict[str, str]:
    """Return the statements of a text by name; see `load_queries`."""
    blocks: dict[str, list[str]] = {}
    block: list[str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _NAME.match(line):
            name = found["name"]
            if name in blocks:
                raise ValueError(f"{source}:{number}: the name {name!r} is used twice")
            block = blocks[name] = []
        elif line.strip() and not line.lstrip().startswith("--"):
            if block is None:
                raise ValueError(f"{source}:{number}: SQL before the first '-- name:' line")
            block.append(line)
    for name, lines in blocks.items():
        if not lines:
            raise ValueError(f"{source}: the query {name!r} is empty")
    return {name: "\n".join(lines).strip().rstrip(";") for name, lines in blocks.items()}
