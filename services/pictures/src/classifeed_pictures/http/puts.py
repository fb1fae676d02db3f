"""Uploads of pictures: POST /market/put_picture?url=, POST /shops/{shop_id}/pictures, raw or in a form."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any, Final

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.errors import DomainError, FieldViolation, InvalidArgument
from classifeed_common.http.api.bodies import Body
from classifeed_pictures.app.files.put_picture import MAX_BYTES, PutPicture, too_large
from classifeed_pictures.domain.urls.canonical import URL_LIMIT_CHARS

MARKET: Final = "offers"
SHOPS: Final = "shops"
_FORM: Final = "multipart/form-data"
# Maximum size of a form without its file.
_FORM_BYTES: Final = 1 << 16


class PutEndpoint:
    """Receives pictures.

    Args:
        put: use case that stores them.
    """

    def __init__(self, put: PutPicture) -> None:
        self._put = put

    async def market(self, request: Request) -> Response:
        """Store the body under the URL in the query."""
        url = request.query_params.get("url", "")
        if not 0 < len(url) <= URL_LIMIT_CHARS or "\0" in url:
            message = f"url must have 1 to {URL_LIMIT_CHARS} characters, none of them NUL."
            raise InvalidArgument("REQUEST_INVALID", message, violations=[FieldViolation("url", message)])
        return _written(await self._put(url, MARKET, await _read(request)))

    async def shop(self, request: Request) -> Response:
        """Store a picture of a shop; its key is its content hash, so the same bytes are the same picture."""
        data = await _read(request)
        content_hash = (await asyncio.to_thread(hashlib.sha256, data)).hexdigest()
        key = f"shops/{request.path_params['shop_id']}/{content_hash}"
        return _written(await self._put(key, SHOPS, data))


async def _read(request: Request) -> bytes:
    """Return the picture in the request, raw or in a form.

    Raises:
        InvalidArgument: TOO_LARGE, BODY_INCOMPLETE, REQUEST_INVALID.
        Unavailable: REQUESTS_BUSY.
    """
    try:
        if request.headers.get("content-type", "").lower().startswith(_FORM):
            return await _read_form(request, Body(request, MAX_BYTES + _FORM_BYTES))
        return await Body(request, MAX_BYTES).read()
    except DomainError as error:
        if error.reason != "BODY_TOO_LARGE":
            raise
        raise too_large() from error


async def _read_form(request: Request, body: Body) -> bytes:
    parser = _FormParser(request.headers, body.stream(), max_files=1, max_fields=10, max_part_size=_FORM_BYTES)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise InvalidArgument(
            "REQUEST_INVALID", f"The form cannot be read: {error.message} Send the picture as one of its files."
        ) from error
    try:
        files = [value for value in form.values() if isinstance(value, UploadFile)]
        if len(files) != 1:
            raise InvalidArgument("REQUEST_INVALID", "The form has no file. Send the picture as one of its files.")
        data = await files[0].read(MAX_BYTES + 1)
    finally:
        await form.close()
    if len(data) > MAX_BYTES:
        raise too_large()
    return data


class _FormParser(MultiPartParser):
    """Keeps files in memory, as a body is never larger than the limit of pictures."""

    spool_max_size = MAX_BYTES + _FORM_BYTES


def _written(info: PictureInfo) -> Response:
    sizes: list[dict[str, Any]] = [
        {"name": size.name, "width": size.width, "height": size.height, "formats": list(size.formats)}
        for size in info.sizes
    ]
    return JSONResponse(
        {
            "namespace": info.namespace,
            "group_id": info.group_id,
            "name": info.name,
            "etag": info.content_hash.hex()[:32],
            "width": info.width,
            "height": info.height,
            "sizes": sizes,
        }
    )
