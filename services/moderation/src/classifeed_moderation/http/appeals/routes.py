"""Routes of the pages of appeals."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Route

from classifeed_common.auth import KeyStore, Policy
from classifeed_common.db import Database
from classifeed_common.http.api.middleware import ApiMiddleware
from classifeed_common.http.api.routes import operation_routes
from classifeed_common.http.pages.guarding import PageGuard, page_callers
from classifeed_common.http.pages.sessions import Session
from classifeed_moderation.http.appeals.operations import OPERATIONS, AppealServices
from classifeed_moderation.http.appeals.pages import API, PAGES, PATH, AppealPages
from classifeed_moderation.rpc.moderation_service.appeals import Appeals


def appeal_routes(
    database: Database, appeals: Appeals, *, audience: str, keys: KeyStore | None, policy: Policy
) -> Sequence[BaseRoute]:
    """Return the routes below `/appeals`.

    A decision is JSON from a page of this service (`BrowserGuard`), with a cookie that no other site can have sent.

    Args:
        database: database of the texts.
        appeals: RPC methods of appeals.
        audience: required audience of tokens.
        keys: keys that verify tokens.
        policy: policy that says who may decide appeals.
    """
    session = Session(PATH, "classifeed_appeals")
    callers = page_callers(
        session, keys=keys, policy=policy, grpc_service="classifeed.moderation.v1.ModerationService", audience=audience
    )
    middleware = ApiMiddleware(API, "classifeed_moderation", AppealServices(appeals), callers=callers)
    guard = PageGuard(API, PAGES, session, callers, shows="ListAppeals", further=("GetAppeal", "DecideAppeal"))
    pages = AppealPages(database, appeals)
    return [
        *operation_routes(OPERATIONS, middleware),
        *guard.routes(PATH),
        Route(PATH, guard.guarded(pages.open_appeals)),
        Route(f"{PATH}/{{appeal_id:name}}", guard.guarded(pages.appeal)),
    ]
