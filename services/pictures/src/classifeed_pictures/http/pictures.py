"""Serves pictures: GET /get/{namespace}/{group}/{name}/{size}."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from classifeed_common.errors import DomainError, NotFound
from classifeed_common.http.app import require_open
from classifeed_common.http.problems import problem_of
from classifeed_common.http.sending import FileResponse
from classifeed_common.rpc.faults import explain
from classifeed_pictures.app.files.read_picture import ORIGINAL, Address, ReadPicture
from classifeed_pictures.http.negotiation import MEDIA_TYPES, choose_format
from classifeed_pictures.store.files.stored import StoredPicture

# An address always has the same bytes: other bytes get another name.
_KEPT: Final = "public, max-age=31536000, immutable"
_NOT_KEPT: Final = "no-store"
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


class PictureEndpoint:
    """Serves pictures to any client, without authentication.

    Args:
        reader: reader of stored pictures.
    """

    def __init__(self, reader: ReadPicture) -> None:
        self._reader = reader

    async def get(self, request: Request) -> Response:
        """Respond with a version of a picture; an error has no header that lets it be cached."""
        try:
            require_open(request)
            return await self._respond(request)
        except Exception as error:  # noqa: BLE001 - no error may be cached
            fault = error if isinstance(error, DomainError) else explain(error, f"GET {request.url.path}")
            response = problem_of(fault, instance=request.url.path)
            response.headers["Cache-Control"] = _NOT_KEPT
            return response

    async def _respond(self, request: Request) -> Response:
        path = request.path_params
        picture = await self._reader.find(Address(path["namespace"], path["group"], path["name"]))
        if path["size"] == ORIGINAL:
            etag, media_type, vary = picture.original, MEDIA_TYPES[picture.info.format], {}
            piece = None
        else:
            accept = request.headers.get("accept", "")
            formats = [each.format for each in picture.pieces if each.rule.name == path["size"]]
            if not formats:
                raise _unknown_size(picture, path["size"])
            chosen = choose_format(accept, formats)
            piece = next(each for each in picture.pieces if (each.rule.name, each.format) == (path["size"], chosen))
            etag, media_type, vary = piece.sha256, MEDIA_TYPES[chosen], {"Vary": "Accept"}
        headers = {"Cache-Control": _KEPT, "ETag": f'"{etag[:32]}"', **vary, **_HEADERS}
        if _is_known(request.headers.get("if-none-match", ""), headers["ETag"]):
            return Response(status_code=304, headers=headers)
        if piece is not None:
            content = await self._reader.read_version(picture, piece)
            return Response(content, media_type=media_type, headers=headers)
        async with AsyncExitStack() as stack:
            original = await self._reader.open_original(picture, stack)
            holding = stack.pop_all()
        return FileResponse(original.file, original.size_bytes, holding, media_type=media_type, headers=headers)


def _is_known(header: str, etag: str) -> bool:
    """Return whether the client has these bytes already."""
    given = (each.strip().removeprefix("W/") for each in header.split(","))
    return any(each in {etag, "*"} for each in given)


def _unknown_size(picture: StoredPicture, size: str) -> NotFound:
    names = sorted({piece.rule.name for piece in picture.pieces})
    shown = ", ".join([*names, ORIGINAL])
    return NotFound("PICTURE_SIZE_UNKNOWN", f"The picture has no size {size[:64]!r}. Sizes are: {shown}.")
