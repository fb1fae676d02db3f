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
from classifeed_moderation.app.appeals.decide_appeal import DecideAppeal
from classifeed_moderation.http.appeals.operations import OPERATIONS
from classifeed_moderation.http.appeals.pages import API, PAGES, PATH, AppealPages


def appeal_routes(
    database: Database, decide_appeal: DecideAppeal, *, keys: KeyStore, policy: Policy
) -> Sequence[BaseRoute]:
    """Return the routes below `/appeals`.

    A decision is JSON from a page of this service (`BrowserGuard`), with a cookie that no other site can have sent.

    Args:
        database: database of the texts.
        decide_appeal: decides appeals.
        keys: keys that verify tokens.
        policy: policy that says who may decide appeals.
    """
    session = Session(PATH, "classifeed_appeals")
    grpc_service = "classifeed.moderation.v1.ModerationService"
    callers = page_callers(session, keys=keys, policy=policy, grpc_service=grpc_service, audience="moderation")
    middleware = ApiMiddleware(API, "classifeed_moderation", decide_appeal, callers=callers)
    guard = PageGuard(API, PAGES, session, callers, shows="ListAppeals", further=("GetAppeal", "DecideAppeal"))
    pages = AppealPages(database)
    return [
        *operation_routes(OPERATIONS, middleware),
        *guard.routes(PATH),
        Route(PATH, guard.guarded(pages.open_appeals)),
        Route(f"{PATH}/{{appeal_id:name}}", guard.guarded(pages.appeal)),
    ]
