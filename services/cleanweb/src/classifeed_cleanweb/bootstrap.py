"""The only place where the parts of cleanweb are built and joined."""

from __future__ import annotations

from classifeed.cleanweb.v1.cleanweb_service_pb2_grpc import add_CleanwebServiceServicer_to_server
from classifeed_cleanweb.rpc.cleanweb_service import CleanwebService
from classifeed_cleanweb.settings import CleanwebSettings
from classifeed_common.runner import Servicer, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_domain.policy import POLICY

SERVICE = "cleanweb"


def build(settings: CleanwebSettings) -> ServiceRunner:
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
        servicers=[Servicer.of(add_CleanwebServiceServicer_to_server, CleanwebService(version_of(SERVICE)))],
        readiness={},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )
