"""The only place where the parts of pictures are built and joined."""

from __future__ import annotations

from classifeed.pictures.v1.pictures_service_pb2_grpc import add_PicturesServiceServicer_to_server
from classifeed_common.runner import Servicer, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_domain.policy import POLICY
from classifeed_pictures.rpc.pictures_service import PicturesService
from classifeed_pictures.settings import PicturesSettings

SERVICE = "pictures"


def build(settings: PicturesSettings) -> ServiceRunner:
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
        servicers=[Servicer.of(add_PicturesServiceServicer_to_server, PicturesService(version_of(SERVICE)))],
        readiness={},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )
