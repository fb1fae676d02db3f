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
from classifeed_pictures.parts.parts import NAME, Parts
from classifeed_pictures.rpc.picture_service import picture_servicer


def servicer_of(parts: Parts, jobs: JobStore) -> Servicer:
    """Return the servicer of PictureService."""
    return picture_servicer(
        parts.database,
        parts.producer,
        SystemClock(),
        _putter(parts),
        jobs,
        canonical_rules=parts.canonical_rules,
        backups=parts.backups,
    )


def routes_of(parts: Parts) -> Sequence[BaseRoute]:
    """Return all routes except the standard ones."""
    settings = parts.settings
    spool = OriginalSpool(parts.blobs, settings.spool_dir)
    return picture_routes(
        StateEndpoint(parts.database, parts.canonical_rules),
        PutEndpoint(_putter(parts)),
        PictureEndpoint(ReadPicture(parts.database, parts.blobs, spool, settings.cache_bytes)),
        audience=NAME,
        keys=http_keys(settings, required_by="CLASSIFEED_HTTP_AUTH=on" if settings.http_auth == "on" else ""),
        policy=POLICY,
    )


def _putter(parts: Parts) -> PutPicture:
    return PutPicture(
        parts.database,
        parts.outbox,
        parts.decoder,
        parts.store,
        canonical_rules=parts.canonical_rules,
        rules=parts.rules,
    )
