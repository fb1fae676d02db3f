"""Routes of the pages of reviewers."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Route

from classifeed_cleanweb.http.reviews.operations import OPERATIONS, ReviewServices
from classifeed_cleanweb.http.reviews.pages import API, ReviewPages
from classifeed_cleanweb.http.reviews.rendering import PAGES, PATH
from classifeed_common.auth import KeyStore, Policy
from classifeed_common.http.api.middleware import ApiMiddleware
from classifeed_common.http.api.routes import operation_routes
from classifeed_common.http.pages.guarding import PageGuard, page_callers
from classifeed_common.http.pages.sessions import Session


def review_routes(services: ReviewServices, *, keys: KeyStore, policy: Policy) -> Sequence[BaseRoute]:
    """Return the routes below `/reviews`.

    Changes require JSON from a page of this service (`BrowserGuard`), with a cookie that no other site can have sent.

    Args:
        services: services that the pages use.
        keys: keys that verify tokens.
        policy: policy that says who may review.
    """
    session = Session(PATH, "classifeed_reviewer")
    grpc_service = "classifeed.cleanweb.v1.CleanwebService"
    callers = page_callers(session, keys=keys, policy=policy, grpc_service=grpc_service, audience="cleanweb")
    guard = PageGuard(API, PAGES, session, callers, shows="ClaimReview", further=("SubmitOpinion",))
    pages = ReviewPages(services.database, services.terms)
    return [
        *operation_routes(OPERATIONS, ApiMiddleware(API, "classifeed_cleanweb", services, callers=callers)),
        *guard.routes(PATH),
        Route(PATH, guard.guarded(pages.projects)),
        Route(f"{PATH}/{{project:name}}", guard.guarded(pages.review)),
        Route(f"{PATH}/{{project:name}}/instructions", guard.guarded(pages.instructions)),
    ]
