"""The servicers and routes of pictures."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute

from classifeed_common.clock import SystemClock
from classifeed_common.rpc.server import Servicer
from classifeed_common.runner.listening import http_keys
from classifeed_domain.policy import POLICY
from classifeed_jobs import JobStore
from classifeed_pictures.app.files.put_picture import PutPicture
from classifeed_pictures.app.files.read_picture import ReadPicture
from classifeed_pictures.clients.original_spool import OriginalSpool
from classifeed_pictures.http.pictures import PictureEndpoint
from classifeed_pictures.http.puts import PutEndpoint
from classifeed_pictures.http.routes import picture_routes
from classifeed_pictures.http.states import StateEndpoint
from classifeed_pictures.parts.parts import Parts
from classifeed_pictures.rpc.picture_service import picture_servicer


def serving_of(parts: Parts, jobs: JobStore) -> tuple[Servicer, Sequence[BaseRoute]]:
    """Return the servicer of PictureService, and all routes except the standard ones."""
    settings, rules = parts.settings, parts.canonical_rules
    put = PutPicture(parts.database, parts.outbox, parts.decoder, parts.store, canonical_rules=rules, rules=parts.rules)
    servicer = picture_servicer(
        parts.database, parts.producer, SystemClock(), put, jobs, canonical_rules=rules, backups=parts.backups
    )
    spool = OriginalSpool(parts.blobs, settings.spool_dir)
    routes = picture_routes(
        StateEndpoint(parts.database, rules),
        PutEndpoint(put),
        PictureEndpoint(ReadPicture(parts.database, parts.blobs, spool, settings.cache_bytes)),
        audience=settings.service_name(),
        keys=http_keys(settings, required_by="CLASSIFEED_HTTP_AUTH=on" if settings.http_auth == "on" else ""),
        policy=POLICY,
    )
    return servicer, routes
