"""Servicers and HTTP routes of moderation."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute

from classifeed.moderation.v1.moderation_service_pb2_grpc import add_ModerationServiceServicer_to_server
from classifeed.points.v1.point_service_pb2_grpc import add_PointServiceServicer_to_server
from classifeed_common.runner import Servicer
from classifeed_domain.policy import POLICY
from classifeed_moderation.http.appeals.routes import appeal_routes
from classifeed_moderation.http.callback import callback_routes
from classifeed_moderation.parts import Parts
from classifeed_moderation.rpc.moderation_service.appeals import AppealMethods
from classifeed_moderation.rpc.moderation_service.events import EventMethods
from classifeed_moderation.rpc.moderation_service.rejudging import RejudgementMethods
from classifeed_moderation.rpc.moderation_service.texts import TextMethods
from classifeed_moderation.rpc.moderation_service.verdicts import VerdictMethods
from classifeed_moderation.rpc.point_service import PointService
from classifeed_moderation.settings import ModerationSettings


def servicers_of(parts: Parts, settings: ModerationSettings) -> Sequence[Servicer]:
    """Return the gRPC services."""
    judging = parts.judging
    moderation = Servicer.join(
        add_ModerationServiceServicer_to_server,
        TextMethods(parts.database, parts.deciding, judging.judge, judging.take_offer_texts),
        VerdictMethods(parts.database, parts.deciding, on_due=judging.corrector.wake),
        AppealMethods(parts.database, parts.decide_appeal),
        EventMethods(parts.database),
        RejudgementMethods(parts.database, parts.jobs.store),
    )
    points = PointService(
        parts.database,
        judging.store_texts,
        parts.deciding,
        points_shown_after_s=_shown_after_s(settings, settings.points_while_silent),
        comments_shown_after_s=_shown_after_s(settings, settings.comments_while_silent),
    )
    return [moderation, Servicer.of(add_PointServiceServicer_to_server, points), parts.jobs.servicer()]


def routes_of(parts: Parts, settings: ModerationSettings) -> Sequence[BaseRoute]:
    """Return the routes of the callback and of the pages of appeals."""
    callback = callback_routes(
        parts.judging.record_verdicts,
        keys=parts.keys,
        policy=POLICY,
        takes_anonymous=settings.verdict_environment == "testing",
    )
    return [*callback, *appeal_routes(parts.database, parts.decide_appeal, keys=parts.keys, policy=POLICY)]


def _shown_after_s(settings: ModerationSettings, while_silent: str) -> float | None:
    return settings.retry_interval_s if while_silent == "show" else None
