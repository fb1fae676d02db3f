"""The only place where the parts of moderation are built and joined."""

from __future__ import annotations

from classifeed.moderation.v1.moderation_service_pb2_grpc import add_ModerationServiceServicer_to_server
from classifeed_common.runner import Servicer, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_domain.policy import POLICY
from classifeed_moderation.rpc.moderation_service import ModerationService
from classifeed_moderation.settings import ModerationSettings

SERVICE = "moderation"


def build(settings: ModerationSettings) -> ServiceRunner:
    """Return the service, nothing of it opened yet."""

    async def start() -> None:
        """Open databases, producers and channels here."""

    async def stop() -> None:
        """Close them here, in the other order."""

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[],
        servicers=[Servicer.of(add_ModerationServiceServicer_to_server, ModerationService(version_of(SERVICE)))],
        readiness={},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )
