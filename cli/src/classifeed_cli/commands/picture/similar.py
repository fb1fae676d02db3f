"""`classifeed picture similar`: copies of a picture among all stored pictures, or among those of a seller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import typer

from classifeed.pictures.v1.picture_service_pb2 import ListSimilarRequest
from classifeed_cli.commands.picture.options import picture_namespace
from classifeed_cli.messages import document_of
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.picture import SIMILAR, path_of
from classifeed_client import seller_name

_URLS: Final = 1000
_MAX_DISTANCE: Final = 11


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(similar)


@with_session
def similar(
    session: Session,
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of a stored picture, or key of one that was put.")],
    seller: Annotated[str, typer.Option("--seller", help="Only pictures of this seller's offers; default: all.")] = "",
    namespace: Annotated[
        str,
        typer.Option("--namespace", help="Only pictures of this namespace; default: all.", callback=picture_namespace),
    ] = "",
    distance: Annotated[
        int,
        typer.Option(
            min=0, max=_MAX_DISTANCE, help="Maximum number of different bits, of 64, in the pictures' hashes."
        ),
    ] = 10,
    limit: Annotated[int, typer.Option(min=1, help="Pictures to print.")] = 20,
) -> None:
    """List stored pictures that are similar to a picture, the most similar first: copies in other sizes and formats."""
    request = ListSimilarRequest(url=url, namespace=namespace, max_distance=distance)
    urls = _urls_of(session, seller) if seller else None
    with session.picture_client() as client:
        parts = [request] if urls is None else list(_parts(request, urls))
        pages = [collect(client.list_similar, part, "pictures", limit + 1) for part in parts]
    nearest = sorted((picture for page in pages for picture in page.pictures), key=lambda each: each.distance)
    if nearest:
        session.out.rows(SIMILAR, nearest[:limit], more_than=limit if len(nearest) > limit else None)
    else:
        session.out.say(f"no other stored picture looks like {one_line(url)}; --distance 11 finds some more")
    session.out.document(
        {
            "url": url,
            "pictures": [{**document_of(each), "address": path_of(each.picture)} for each in nearest[:limit]],
            "has_more": len(nearest) > limit,
        }
    )


def _urls_of(session: Session, seller: str) -> list[str]:
    """Return the distinct URLs of the pictures of a seller's offers."""
    with session.client() as client:
        offers = (offer for feed in client.iter_feeds(seller_name(seller)) for offer in client.iter_offers(feed.name))
        return list(dict.fromkeys(url for offer in offers for url in offer.content.picture_urls))


def _parts(request: ListSimilarRequest, urls: Sequence[str]) -> Iterator[ListSimilarRequest]:
    """Yield a request for each thousand URLs."""
    for start in range(0, len(urls), _URLS):
        part = ListSimilarRequest(urls=urls[start : start + _URLS])
        part.MergeFrom(request)
        yield part
