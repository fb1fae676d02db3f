"""The short text form of a query: `price:[100 TO 500] AND диван -кожаный "угловой диван" ikea*`.

Grammar, in the order of increasing precedence; adjacent words are joined by AND:

    any   = all { "OR" all }
    all   = one { [ "AND" ] one }
    one   = [ "NOT" | "-" ] ( "(" any ")" | [ field ":" ] value )
    value = word | word"*" | "phrase" | "[" bound "TO" bound "]" | "(" any ")"

The parser tolerates other input: a quotation mark that is not closed, or that follows a word (19" for inches), is
ignored, and a `-` at the end is a word without letters, which matches nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from classifeed_searcher.domain.query import (
    AllOf,
    AnyOf,
    Between,
    Everything,
    Node,
    NoneOf,
    Phrase,
    Prefix,
    QueryError,
    Word,
)

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<field>[a-z][a-z0-9_]*):(?=[^\s"]|"[^"]*")
      | (?P<phrase>"[^"]*")
      | (?P<quote>")
      | (?P<range>\[[^\]]*\]?)
      | (?P<open>\()
      | (?P<close>\))
      | (?P<minus>-)(?=[^\s")]|"[^"]*")
      | (?P<word>[^\s()"\[\]][^\s()\[\]]*)
      | (?P<stray>\S)
    )""",
    re.VERBOSE,
)
_KEYWORDS = frozenset({"AND", "OR", "NOT"})
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int
    end: int


@dataclass(frozen=True, slots=True)
class QueryPart:
    """One of the parts of a query that must all match.

    Attributes:
        node: tree of the part.
        text: text of the part as written.
    """

    node: Node
    text: str


def parse_query(text: str, fields: frozenset[str]) -> Node:
    """Return the tree of a query.

    Args:
        text: text of the query.
        fields: names of fields, which are allowed before a colon.

    Raises:
        QueryError: the text is invalid; the error has the position and the expected token.
    """
    tokens = _tokens(text)
    if not tokens:
        return Everything()
    parser = _Parser(tokens, fields, len(text))
    tree = parser.any_of(field=None, depth=0)
    if parser.ahead is not None:
        raise QueryError("a closing bracket that nothing opened", parser.ahead.position)
    return tree


def split_query(text: str, fields: frozenset[str]) -> list[QueryPart]:
    """Return the parts of a query that must all match; an empty list for a query with OR at the top.

    Raises:
        QueryError: as `parse_query`.
    """
    parser = _Parser(_tokens(text), fields, len(text))
    if parser.ahead is None or isinstance(parser.any_of(field=None, depth=0), AnyOf):
        return []
    return [QueryPart(node, text[start:end]) for node, start, end in parser.outermost]


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while match := _TOKEN.match(text, at):
        kind = match.lastgroup or "stray"
        start = match.start(kind)
        word = match.group(kind)
        if kind == "stray":
            raise QueryError(f"{word!r} has no meaning here", start + 1)
        if kind == "word" and word in _KEYWORDS:
            kind = word
        if kind != "quote":
            found.append(_Token(kind, word, start + 1, match.end()))
        at = match.end()
    return found


class _Parser:
    def __init__(self, tokens: list[_Token], fields: frozenset[str], length: int) -> None:
        self._tokens = tokens
        self._fields = fields
        self._end = length + 1
        self._at = 0
        # Node, start and end of each part outside of brackets, in the last alternative of an OR.
        self.outermost: list[tuple[Node, int, int]] = []

    @property
    def ahead(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    @property
    def _here(self) -> int:
        return self.ahead.position if self.ahead else self._end

    def any_of(self, field: str | None, depth: int) -> Node:
        parts = [self._all_of(field, depth)]
        while self._take("OR"):
            parts.append(self._all_of(field, depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all_of(self, field: str | None, depth: int) -> Node:
        spans = [self._span(field, depth)]
        while self.ahead is not None and self.ahead.kind not in {"OR", "close"}:
            self._take("AND")
            spans.append(self._span(field, depth))
        if depth == 0:
            self.outermost = spans
        return spans[0][0] if len(spans) == 1 else AllOf(tuple(node for node, _, _ in spans))

    def _span(self, field: str | None, depth: int) -> tuple[Node, int, int]:
        first = self._at
        node = self._one(field, depth)
        return node, self._tokens[first].position - 1, self._tokens[self._at - 1].end

    def _one(self, field: str | None, depth: int) -> Node:
        if depth > _DEEPEST:
            raise QueryError(f"more than {_DEEPEST} brackets and negations inside each other", self._here)
        if self._take("NOT") or self._take("minus"):
            return NoneOf(self._one(field, depth + 1))
        token = self._next()
        if token.kind == "field":
            if token.text not in self._fields:
                known = ", ".join(sorted(self._fields))
                raise QueryError(f"there is no field {token.text!r}; there are: {known}", token.position)
            return self._value(self._next(), token.text, depth)
        return self._value(token, field, depth)

    def _value(self, token: _Token, field: str | None, depth: int) -> Node:
        if token.kind == "open":
            inside = self.any_of(field, depth + 1)
            if not self._take("close"):
                raise QueryError("this bracket is never closed", token.position)
            return inside
        if token.kind == "phrase":
            return Phrase(token.text[1:-1], field, token.position)
        if token.kind == "range":
            return _between(token, field)
        if token.kind != "word":
            raise QueryError(f"a word was expected, not {token.text!r}", token.position)
        if token.text.endswith("*") and len(token.text) > 1:
            return Prefix(token.text.rstrip("*"), field, token.position)
        return Word(token.text, field, token.position)

    def _next(self) -> _Token:
        token = self.ahead
        if token is None:
            raise QueryError("the query ends where a word was expected", self._here)
        self._at += 1
        return token

    def _take(self, kind: str) -> bool:
        if self.ahead is not None and self.ahead.kind == kind:
            self._at += 1
            return True
        return False


def _between(token: _Token, field: str | None) -> Between:
    if field is None:
        raise QueryError("a range needs a field before it, as in price:[100 TO 500]", token.position)
    bounds = token.text.removeprefix("[").removesuffix("]").split()
    if not token.text.endswith("]") or len(bounds) != 3 or bounds[1] != "TO":
        raise QueryError("a range is written [100 TO 500], with * for no bound", token.position)
    low, high = (None if bound == "*" else bound for bound in (bounds[0], bounds[2]))
    return Between(field, low, high, token.position)
