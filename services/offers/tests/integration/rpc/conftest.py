"""OfferService behind a real server."""

from __future__ import annotations

import pytest

from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub, add_OfferServiceServicer_to_server
from classifeed_common.db import Database
from classifeed_common.outbox import Outbox
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_jobs import JobStore, Registry
from classifeed_offers.app.manual.update_offer import UpdateOffer
from classifeed_offers.domain.moderation import ApprovedBySetting, Moderation
from classifeed_offers.jobs.request_pictures import PictureCatchUp
from classifeed_offers.rpc.offer_service import OfferService

from ...conftest import NewPublishing


@pytest.fixture
def picture_jobs() -> JobStore | None:
    registry = Registry()
    PictureCatchUp(Outbox(), rate=1).register(registry)
    return JobStore(tasks=registry)


@pytest.fixture
def moderation() -> Moderation:
    """Return the moderation that decides the status of offers; a module may override it."""
    return ApprovedBySetting()


@pytest.fixture
async def target(
    database: Database,
    rpc_server: StartServer,
    new_publishing: NewPublishing,
    moderation: Moderation,
    picture_jobs: JobStore | None,
) -> str:
    publishing = new_publishing(None)
    update_offer = UpdateOffer(database, Outbox(), moderation, requests_pictures=True)
    service = OfferService(database, update_offer, publishing.republisher, publishing.pusher.backlog, picture_jobs)
    return await rpc_server("offers", Servicer.of(add_OfferServiceServicer_to_server, service))


@pytest.fixture
def offers(target: str, rpc_channel: OpenChannel) -> OfferServiceStub:
    return OfferServiceStub(rpc_channel(target, caller="operator", audience="offers"))
