"""Finds pictures that look like another one."""

from __future__ import annotations

from typing import Final

from classifeed.pictures.v1.picture_service_pb2 import ListSimilarRequest, ListSimilarResponse, SimilarPicture
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.paging import page_token_refused, read_page_token, write_page_token
from classifeed_pictures.app.states.find_similar import find_similar
from classifeed_pictures.app.states.find_states import Rules
from classifeed_pictures.domain.similarity import DEFAULT_DISTANCE
from classifeed_pictures.store.states.similar import BEGIN, Place

_DEFAULT_PAGE_PICTURES: Final = 100
_GROUP_DIGITS: Final = 9


class SimilarMethods:
    """Lists near-duplicates of stored pictures.

    Args:
        database: database with the stored pictures.
        canonical_rules: returns the rules of canonical URLs.
    """

    def __init__(self, database: Database, canonical_rules: Rules) -> None:
        self._database = database
        self._canonical_rules = canonical_rules

    async def ListSimilar(self, request: ListSimilarRequest, context: Context) -> ListSimilarResponse:
        """Return a page of the pictures that look like the picture of a URL."""
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            found = await find_similar(
                tx,
                request.url,
                self._canonical_rules(),
                distance=request.max_distance if request.HasField("max_distance") else DEFAULT_DISTANCE,
                namespace=request.namespace,
                among=request.urls,
                after=_read_place(request.page_token),
                limit=request.page_size or _DEFAULT_PAGE_PICTURES,
            )
        return ListSimilarResponse(
            pictures=[SimilarPicture(url=row.url, distance=row.place.distance, picture=row.info) for row in found.rows],
            next_page_token=_write_place(found.next) if found.next is not None else "",
            compared=found.compared,
        )


def _write_place(place: Place) -> str:
    return write_page_token(f"{place.distance}/{place.namespace}/{place.group_id}/{place.name}")


def _read_place(token: str) -> Place:
    """Return the place after which a page begins.

    Raises:
        InvalidArgument: PAGE_TOKEN_INVALID.
    """
    if not token:
        return BEGIN
    match read_page_token(token).split("/"):
        case [distance, namespace, group_id, name] if _is_number(distance) and _is_number(group_id):
            return Place(int(distance), namespace, int(group_id), name)
    raise page_token_refused()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _GROUP_DIGITS
