"""Declares the api's process: its roles, servicers and readiness."""

from __future__ import annotations

from classifeed.feeds.v1.feed_service_pb2_grpc import add_FeedServiceServicer_to_server
from classifeed_api.parts import build_parts
from classifeed_api.parts.families import feed_families
from classifeed_api.parts.roles import build_roles
from classifeed_api.settings import ApiSettings
from classifeed_common.runner import Servicer, ServiceRunner, version_of
from classifeed_common.runner.parts import SchemaCheck
from classifeed_domain.policy import POLICY

SERVICE = "api"


def build(settings: ApiSettings) -> ServiceRunner:
    """Return the api; nothing is opened yet."""
    parts = build_parts(settings)
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=build_roles(parts),
        servicers=[Servicer.join(add_FeedServiceServicer_to_server, *feed_families(parts)), parts.jobs.servicer()],
        schema=SchemaCheck(parts.database, "classifeed_api"),
        readiness={"s3": parts.blobs.check},
        opens={"s3": parts.blobs.open},
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )
