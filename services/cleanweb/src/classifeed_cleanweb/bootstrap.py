"""Composition root: declares the roles, servicers and routes of cleanweb."""

from __future__ import annotations

from classifeed.cleanweb.v1.cleanweb_service_pb2_grpc import add_CleanwebServiceServicer_to_server
from classifeed_cleanweb.http.requests import RequestServices, request_routes
from classifeed_cleanweb.http.reviews.operations import ReviewServices
from classifeed_cleanweb.http.reviews.routes import review_routes
from classifeed_cleanweb.jobs import callback
from classifeed_cleanweb.parts import build_parts
from classifeed_cleanweb.rpc.cleanweb_service import CleanwebService
from classifeed_cleanweb.settings import CleanwebSettings
from classifeed_common.runner import Role, Servicer, ServiceRunner, version_of
from classifeed_common.runner.parts import SchemaCheck
from classifeed_domain.policy import POLICY

SERVICE = "cleanweb"


def build(settings: CleanwebSettings) -> ServiceRunner:
    """Return the service without opening anything. Call it inside the event loop.

    Raises:
        StartError: there are no keys for tokens.
    """
    parts = build_parts(settings)
    judge, receivers, terms = parts.judge_text, parts.receivers, parts.terms
    requests = RequestServices(judge, receivers, parts.database)
    reviews = ReviewServices(parts.database, parts.enqueue, terms)
    cleanweb = CleanwebService(parts.database, judge, receivers, parts.enqueue, parts.resend, terms)
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role.together("watch", parts.measured, parts.resumed, parts.rules),
            *parts.jobs.roles({callback.QUEUE: callback.AT_ONCE}, drain_grace_s=settings.drain_grace_s / 2),
        ],
        servicers=[Servicer.of(add_CleanwebServiceServicer_to_server, cleanweb), parts.jobs.servicer()],
        routes=[
            *request_routes(requests, keys=parts.keys, policy=POLICY),
            *review_routes(reviews, keys=parts.keys, policy=POLICY),
        ],
        schema=SchemaCheck(parts.database, "classifeed_cleanweb"),
        opens={"rules": parts.rules.open},
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )
