"""States over HTTP: GET /state?url=, POST /state with a JSON array of URLs."""

from __future__ import annotations

import json
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from classifeed.pictures.v1.picture_pb2 import PictureState
from classifeed_common.db import Database
from classifeed_common.errors import FieldViolation, InvalidArgument, NotFound
from classifeed_common.http.api.bodies import Body, check_json
from classifeed_pictures.app.states.find_states import Rules, canonical_keys, find_states
from classifeed_pictures.domain.urls.canonical import URL_LIMIT_CHARS
from classifeed_pictures.http.fields import check_query, picked, written, written_batch

_MOST_URLS: Final = 1000
_MAX_BODY_BYTES: Final = 5 << 20
_MOST_DEEP: Final = 2


class StateEndpoint:
    """Responds with the states of URLs.

    Args:
        database: database with the states.
        canonical_rules: returns the rules of canonical URLs.
    """

    def __init__(self, database: Database, canonical_rules: Rules) -> None:
        self._database = database
        self._canonical_rules = canonical_rules

    async def get(self, request: Request) -> Response:
        """Respond with one state; 404 if the URL is unknown."""
        fields, format_ = check_query(request)
        url = request.query_params.get("url", "")
        [state] = await self._find([url])
        if not state.known:
            raise NotFound("PICTURE_UNKNOWN", f"Nothing is known of the picture {state.url[:200]!r}. Request it first.")
        return written(picked(state, fields), format_)

    async def post(self, request: Request) -> Response:
        """Respond with states in the order of the URLs; unknown ones are marked."""
        fields, format_ = check_query(request)
        body = await Body(request, _MAX_BODY_BYTES).read()
        check_json(body, most_deep=_MOST_DEEP, most_values=_MOST_URLS)
        try:
            urls = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise _invalid(f"The body is not JSON: {error}.") from error
        if not isinstance(urls, list):
            raise _invalid("The body must be a JSON array of URLs.")
        states = await self._find(urls)
        return await written_batch([picked(state, fields) for state in states], format_)

    async def _find(self, urls: list[object]) -> list[PictureState]:
        keys = await canonical_keys(_checked(urls), self._canonical_rules())
        # No transaction is needed: each statement sees all earlier commits anyway.
        async with self._database.connection() as connection:
            return await find_states(connection, keys)


def _checked(urls: list[object]) -> list[str]:
    if not 0 < len(urls) <= _MOST_URLS:
        raise _invalid(f"There are {len(urls)} URLs; 1 to {_MOST_URLS} are allowed.")
    checked = []
    for number, url in enumerate(urls):
        if not isinstance(url, str) or not 0 < len(url) <= URL_LIMIT_CHARS or "\0" in url:
            raise _invalid(f"urls[{number}] must be text of 1 to {URL_LIMIT_CHARS} characters, none of them NUL.")
        checked.append(url)
    return checked


def _invalid(message: str) -> InvalidArgument:
    return InvalidArgument("REQUEST_INVALID", message, violations=[FieldViolation("urls", message)])
