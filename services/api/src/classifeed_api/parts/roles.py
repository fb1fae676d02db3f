"""The roles of the api."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from classifeed_api.app.feeds.check_credentials import check_credentials
from classifeed_api.app.peers.verify_sources import SourceVerifier
from classifeed_api.app.peers.verify_tasks import TaskVerifier
from classifeed_api.parts import Parts
from classifeed_api.store import task_line
from classifeed_common.blobs import BlobSweeper
from classifeed_common.runner import Role, Watch

_VERIFY_INTERVAL_S: Final = 60.0


def build_roles(parts: Parts) -> Sequence[Role]:
    """Return all roles except `serve`."""
    settings, database, tasks, sources = parts.settings, parts.database, parts.tasks, parts.sources
    verifier = SourceVerifier(database, parts.loader, on_lost=sources.wake, interval_s=_VERIFY_INTERVAL_S)
    task_verifier = TaskVerifier(database, parts.processor, on_lost=tasks.wake, interval_s=_VERIFY_INTERVAL_S)
    readable = Watch(partial(check_credentials, database, parts.cipher), what="credentials of feeds")
    sweeper = BlobSweeper(database, parts.blobs)

    def uploads_blocked() -> dict[str, str]:
        return {**tasks.blocked(), **parts.create_tasks.blocked()}

    async def count_uploads() -> dict[str, int]:
        async with database.transaction() as tx:
            return {"uploads": await task_line.count(tx)}

    async def count_feeds() -> dict[str, int]:
        return {"feeds_unpublished": await sources.backlog()}

    return (
        Role("publish-uploads", tasks.run, count_uploads, uploads_blocked),
        Role("publish-feeds", sources.run, count_feeds, sources.blocked),
        *parts.jobs.roles({}, drain_grace_s=settings.drain_grace_s / 2),
        Role.together("verify-feeds", verifier, readable),
        Role("verify-tasks", task_verifier.run, blocked=task_verifier.blocked),
        Role("sweep", sweeper.run, blocked=sweeper.blocked),
    )
