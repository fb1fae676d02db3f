"""`classifeed search`: searches offers, as a buyer does."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Annotated, Any, Final

import typer

from classifeed.documents.v1 import document_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_client import Client

_SHOWN = ("seller", "namespace", "external_id", "title", "price", "currency")
_ALL = "*"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(search)


@with_session
def search(
    session: Session,
    query: Annotated[str, typer.Argument(help='Words, "phrases", price:[100 TO 500], AND, OR, NOT; * for all.')],
    seller: Annotated[str, typer.Option(help="Only offers of this seller.")] = "",
    condition: Annotated[
        list[str] | None, typer.Option("--filter", help="Further condition in the query's form; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Offers to print.")] = 20,
) -> None:
    """Search the offers: words in any form, Russian and English."""
    out = session.out
    with session.client() as client:
        found = find_offers(client, query, seller=seller, conditions=condition or [], limit=limit)
    show_hits(out, found)
    if found.HasField("hint"):
        for line in describe_hint(found.hint):
            out.say(line)
    out.document(search_document(found))


def find_offers(
    client: Client, query: str, *, seller: str = "", conditions: list[str] | None = None, limit: int = 20
) -> search_service_pb2.SearchResponse:
    """Return the first hits of a search among offers."""
    request = search_service_pb2.SearchRequest(
        client="offers", query="" if query.strip() == _ALL else query, conditions=conditions or [], page_size=limit
    )
    if seller:
        request.filters.add(field="seller").terms.values.add(string_value=seller)
    return client.search(request)


def show_hits(out: Output, found: search_service_pb2.SearchResponse) -> None:
    """Print hits as a table."""
    out.rows(_HITS, map(hit_document, found.hits))
    more = f" of {found.total}" if found.total > len(found.hits) else ""
    out.say(f"{len(found.hits)}{more} found")


def describe_hint(hint: search_service_pb2.Hint) -> list[str]:
    """Return sentences that name the part of a query without matches, and suggest another query."""
    lines = []
    if hint.unmatched:
        lines.append(f"no offer has {_quote(hint.unmatched, ' or ')}")
    if hint.left_out:
        lines.append(f"offers have {_quote(hint.left_out, ' and ')}, but none together with the other words")
    if hint.query:
        # After --, a query that begins with - is not parsed as an option.
        marked = "-- " if hint.query.startswith("-") else ""
        them = "it" if len(hint.unmatched) + len(hint.left_out) == 1 else "them"
        lines.append(f"without {them} {hint.total} found: classifeed search {marked}{shlex.quote(hint.query)}")
    return lines


def search_document(found: search_service_pb2.SearchResponse) -> dict[str, Any]:
    """Return the JSON document of a search. It has a `hint` only if nothing was found and the reason is known."""
    document: dict[str, Any] = {"hits": [hit_document(hit) for hit in found.hits], "total": str(found.total)}
    if found.HasField("hint"):
        hint = found.hint
        document["hint"] = {
            "unmatched": list(hint.unmatched),
            "left_out": list(hint.left_out),
            "query": hint.query,
            "total": str(hint.total),
        }
    return document


def _quote(words: Iterable[str], joint: str) -> str:
    return joint.join(word if word.startswith('"') else f'"{word}"' for word in words)


def hit_document(hit: search_service_pb2.Hit) -> dict[str, Any]:
    """Return the JSON document of a hit."""
    fields = {field.name: [_plain(value) for value in field.values] for field in hit.fields if field.values}
    shown = {name: fields.get(name, [""])[0] for name in _SHOWN}
    return {**shown, "score": hit.score, "pictures": fields.get("picture", [])}


def _price(hit: dict[str, Any]) -> str:
    return f"{hit['price']:,.2f} {hit['currency']}".replace(".00 ", " ") if hit["price"] != "" else ""


def _plain(value: document_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    return getattr(value, kind) if kind else ""


_HITS: Final = Table[dict[str, Any]](
    {
        "seller": lambda hit: hit["seller"],
        "namespace": lambda hit: hit["namespace"],
        "id": lambda hit: hit["external_id"],
        "price": _price,
        "title": lambda hit: hit["title"],
    }
)
