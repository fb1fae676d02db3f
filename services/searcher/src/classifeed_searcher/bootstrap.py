"""Joins the searcher's parts to roles, a servicer and readiness checks."""

from __future__ import annotations

from classifeed.search.v1.search_service_pb2_grpc import add_SearchServiceServicer_to_server
from classifeed_common.runner import Role, Servicer, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_domain.policy import POLICY
from classifeed_searcher.parts import build_parts
from classifeed_searcher.rpc.search_service import SearchService
from classifeed_searcher.settings import SearcherSettings

SERVICE = "searcher"


def build(settings: SearcherSettings) -> ServiceRunner:
    """Return the searcher, ready to run."""
    parts = build_parts(settings)
    children = parts.children
    roles = [Role("watch-children", children.run, blocked=children.blocked, is_everywhere=True)]
    for client, index in parts.indexes.items():
        keeper, verifier = index.keeper, index.verifier
        roles.append(Role(f"consume-{client}", keeper.run, keeper.backlog, blocked=keeper.blocked))
        roles.append(Role(f"verify-{client}", verifier.run, verifier.backlog, blocked=verifier.blocked))
    # Readiness does not depend on Kafka or the receiver: a complete index is searched while they are unavailable.
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=roles,
        servicers=[Servicer.of(add_SearchServiceServicer_to_server, SearchService(parts.search))],
        readiness={f"index of {client}": index.live.check for client, index in parts.indexes.items()},
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )
