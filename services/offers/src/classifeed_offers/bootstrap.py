"""Composition root of offers: its topics, roles and servicers."""

from __future__ import annotations

from typing import Final

from classifeed.offers.v1.offer_service_pb2_grpc import add_OfferServiceServicer_to_server
from classifeed_common.kafka import ensure_topics
from classifeed_common.runner import Role, Servicer, ServiceRunner, version_of
from classifeed_common.runner.parts import SchemaCheck
from classifeed_domain import topics
from classifeed_domain.policy import POLICY
from classifeed_offers.consumers import outcomes, pictures, requests
from classifeed_offers.jobs import republish, request_pictures, return_decisions, sweep
from classifeed_offers.parts import build_parts
from classifeed_offers.settings import OffersSettings

SERVICE = "offers"
# Topics that can be grown, with the groups that read them here.
GROWABLE: Final = {
    topics.declared(topics.FEEDS_OFFER_REQUESTS): (requests.GROUP,),
    topics.declared(topics.MODERATION_OUTCOMES): (outcomes.GROUP,),
    topics.declared(topics.PICTURES_RESULTS): (pictures.GROUP,),
}
_WRITTEN: Final = (topics.FEEDS_OFFER_RESULTS, topics.MODERATION_REQUESTS, topics.PICTURES_REQUESTS)


async def prepare(settings: OffersSettings) -> None:
    """Create the topics that this service reads and writes; idempotent."""
    await ensure_topics(settings.kafka_bootstrap, [*GROWABLE, *map(topics.declared, _WRITTEN)])


def build(settings: OffersSettings) -> ServiceRunner:
    """Return the service without opening anything. Call it inside the event loop."""
    parts = build_parts(settings)
    loads, relay, publication = parts.loads, parts.relay, parts.publication
    queues = {sweep.QUEUE: 2, republish.QUEUE: 1, request_pictures.QUEUE: 1, return_decisions.QUEUE: 1}
    grace_s = settings.drain_grace_s / 2  # leaves time to hand back unfinished jobs
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("consume", loads.run, loads.backlog, loads.blocked),
            parts.verdicts,
            parts.pictures,
            Role("relay", relay.run, parts.count_unsent, relay.blocked),
            *parts.jobs.roles(queues, resources=parts.jobs.store, drain_grace_s=grace_s),
            Role("publish", publication.run, publication.backlog, publication.blocked),
        ],
        servicers=[Servicer.of(add_OfferServiceServicer_to_server, parts.offer_service), parts.jobs.servicer()],
        schema=SchemaCheck(parts.database, "classifeed_offers"),
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )
