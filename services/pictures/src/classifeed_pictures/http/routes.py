"""All routes of pictures except the standard ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from classifeed_common.auth import KeyStore, Policy
from classifeed_common.errors import DomainError
from classifeed_common.http.api.callers import CallerCheck
from classifeed_common.http.app import require_open
from classifeed_common.http.problems import handle_error, problem_of
from classifeed_common.http.public import PublicRoute
from classifeed_common.http.uploads import UploadRoute
from classifeed_pictures.http.pictures import PictureEndpoint
from classifeed_pictures.http.puts import PutEndpoint
from classifeed_pictures.http.states import StateEndpoint

_SERVICE: Final = "classifeed.pictures.v1.PictureService"
# Faults of pictures that have a status of HTTP.
_STATUSES: Final = {
    "PICTURE_NOT_A_PICTURE": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "PICTURE_UNSUPPORTED": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}
Endpoint = Callable[[Request], Awaitable[Response]]


def picture_routes(
    states: StateEndpoint,
    puts: PutEndpoint,
    pictures: PictureEndpoint,
    *,
    audience: str,
    keys: KeyStore | None,
    policy: Policy,
) -> Sequence[BaseRoute]:
    """Return the routes.

    Args:
        states: endpoint of states.
        puts: endpoint of uploads.
        pictures: endpoint that serves pictures to any client.
        audience: required audience of tokens.
        keys: keys that verify tokens; None: every client may call everything.
        policy: permissions of callers.
    """
    callers = CallerCheck(keys=keys, policy=policy, grpc_service=_SERVICE, audience=audience)

    def guarded(rpc: str, endpoint: Endpoint) -> Endpoint:
        async def respond(request: Request) -> Response:
            try:
                client = request.client.host if request.client is not None else "-"
                callers.admit(rpc, request.headers, client)
                require_open(request)
                return await endpoint(request)
            except DomainError as error:
                return problem_of(error, instance=request.url.path, status=_STATUSES.get(error.reason))
            except Exception as error:  # noqa: BLE001 - every error gets a problem document
                return await handle_error(request, error)

        return respond

    return [
        Route("/state", guarded("GetState", states.get), methods=["GET"]),
        Route("/state", guarded("BatchGetStates", states.post), methods=["POST"]),
        UploadRoute("/market/put_picture", guarded("PutPicture", puts.market), methods=["POST"]),
        UploadRoute("/shops/{shop_id:name}/pictures", guarded("PutPicture", puts.shop), methods=["POST"]),
        PublicRoute("/get/{namespace:name}/{group:number}/{name:name}/{size:name}", pictures.get, methods=["GET"]),
    ]
