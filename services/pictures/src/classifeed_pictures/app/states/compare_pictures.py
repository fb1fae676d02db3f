"""Finds pictures that only offers requested and that no offer uses, and sends notices of them.

The first notice marks a picture and a second one, a day later, deletes it. So a picture is deleted only if two
comparisons have found it unused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import structlog

from classifeed.pictures.v1.events_pb2 import DELETE_REASON_UNUSED, DeletePicture
from classifeed.pictures.v1.requests_pb2 import PictureNotice
from classifeed_common.outbox import Outbox
from classifeed_jobs import JobContext, Progress
from classifeed_pictures.app.events.compose_messages import notice_messages
from classifeed_pictures.app.states.find_states import Rules
from classifeed_pictures.clients.offers import OffersClient
from classifeed_pictures.domain.urls.canonical import url_hash
from classifeed_pictures.domain.urls.rekeying import possible_keys
from classifeed_pictures.store.events.canonical_rules import list_rules
from classifeed_pictures.store.states import comparisons
from classifeed_pictures.store.states.comparisons import Comparison

_STATES: Final = 1000
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ComparePictures:
    """Compares in steps; a later run continues after the last one.

    Attributes:
        offers: client that exports the URLs that offers use.
        outbox: outbox for the notices.
        canonical_rules: returns the rules of canonical URLs.
        held_share: share of all states; if more pictures are unused, the comparison waits for confirmation.
        held_least: number of unused pictures that never needs a confirmation.
    """

    offers: OffersClient
    outbox: Outbox
    canonical_rules: Rules
    held_share: float
    held_least: int

    async def __call__(self, ctx: JobContext, comparison_id: int | None) -> AsyncIterator[Progress]:
        """Run a comparison, or continue a confirmed one; yield after each step.

        Raises:
            Unavailable: the export was cut off, and nothing is deleted; retry.
            ClaimLost: another run has claimed the job.
        """
        state: dict[str, Any] = ctx.checkpoint or {"id": comparison_id, "step": "notify" if comparison_id else "export"}
        if state["id"] is None:
            async with ctx.guarded_transaction() as tx:
                state = state | {"id": await comparisons.begin_comparison(tx)}
                await ctx.save_checkpoint(tx, state)
        if state["step"] == "export":
            await self._export(ctx, state["id"])
            state = await self._save(ctx, state | {"step": "count", "after": "", "seen": 0})
            yield Progress()
        while state["step"] in {"count", "notify"}:
            state = await self._slice(ctx, state)
            yield Progress(processed=state.get("seen", 0))

    async def _export(self, ctx: JobContext, comparison_id: int) -> None:
        """Record all URLs that offers use. An incomplete export is never compared with.

        A link also uses the keys that older rules make of it, since its picture may still be stored under them.
        """
        export = await self.offers.export_picture_urls()
        async with ctx.guarded_transaction() as tx:
            await comparisons.restart_comparison(tx, comparison_id, export.snapshot_at)
            history = await list_rules(tx)
        async for urls in export.pieces:
            ctx.raise_if_stopped()
            current = self.canonical_rules()
            rules = history if history[-1:] == [current] else [*history, current]
            hashes = [url_hash(key) for url in urls for key in possible_keys(url, rules)]
            async with ctx.guarded_transaction() as tx:
                await comparisons.add_used(tx, comparison_id, hashes)

    async def _slice(self, ctx: JobContext, state: dict[str, Any]) -> dict[str, Any]:
        """Count the next unused states, or send notices of them."""
        async with ctx.guarded_transaction() as tx:
            comparison = await comparisons.find_comparison(tx, state["id"])
            if comparison is None or comparison.state != "RUNNING":
                following = state | {"step": "over"}
                await ctx.save_checkpoint(tx, following)
                return following
            after = bytes.fromhex(state.get("after", ""))
            rows = await comparisons.compare_slice(tx, comparison, after=after, limit=_STATES)
            unused = [row for row in rows if row.is_unused]
            if state["step"] == "count":
                compared = sum(row.is_compared for row in rows)
                await comparisons.add_counts(tx, comparison.comparison_id, compared=compared, unused=len(unused))
            else:
                await self.outbox.put(tx, notice_messages([_notice(row.url, comparison) for row in unused]))
            following = state | {"seen": state.get("seen", 0) + len(rows)}
            if len(rows) == _STATES:
                following["after"] = bytes(rows[-1].url_hash).hex()
            else:
                following |= {"after": "", "seen": 0, "step": await self._next_step(tx, state)}
            await ctx.save_checkpoint(tx, following)
        self.outbox.wake()
        return following

    async def _next_step(self, tx: Any, state: dict[str, Any]) -> str:
        if state["step"] == "notify":
            await comparisons.move_comparison(tx, state["id"], "DONE")
            await comparisons.drop_used(tx)
            return "over"
        comparison = await comparisons.find_comparison(tx, state["id"])
        assert comparison is not None
        most = max(self.held_least, int(comparison.compared * self.held_share))
        if comparison.unused > most:
            await comparisons.move_comparison(tx, state["id"], "HELD")
            _log.warning(
                "pictures.comparison.held",
                comparison=comparison.comparison_id,
                compared=comparison.compared,
                unused=comparison.unused,
            )
            return "over"
        return "notify"

    async def _save(self, ctx: JobContext, state: dict[str, Any]) -> dict[str, Any]:
        async with ctx.guarded_transaction() as tx:
            await ctx.save_checkpoint(tx, state)
        return state


def _notice(url: str, comparison: Comparison) -> PictureNotice:
    assert comparison.snapshot_at is not None
    deletion = DeletePicture(reason=DELETE_REASON_UNUSED)
    return PictureNotice(url=url, exact=True, notice_time=comparison.snapshot_at, delete_picture=deletion)
