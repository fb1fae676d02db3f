"""States of pictures."""

from __future__ import annotations

from typing import Any

from classifeed.pictures.v1.picture_pb2 import PictureState, PictureStateBatch
from classifeed.pictures.v1.picture_service_pb2 import BatchGetStatesRequest, GetStateRequest
from classifeed_common.db import Database
from classifeed_common.errors import NotFound
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_pictures.app.states.find_states import Rules, canonical_keys, find_states


class StateMethods:
    """Returns the states of URLs.

    Args:
        database: database with the states.
        canonical_rules: returns the rules of canonical URLs.
    """

    def __init__(self, database: Database, canonical_rules: Rules) -> None:
        self._database = database
        self._canonical_rules = canonical_rules

    async def GetState(self, request: GetStateRequest, context: Context) -> PictureState:
        """Return the state of one URL."""
        [state] = await self._find([request.url])
        if not state.known:
            raise NotFound("PICTURE_UNKNOWN", f"Nothing is known of the picture {state.url[:200]!r}. Request it first.")
        return state

    async def BatchGetStates(self, request: BatchGetStatesRequest, context: Context) -> PictureStateBatch:
        """Return the states of several URLs, in order."""
        return PictureStateBatch(states=await self._find(request.urls))

    async def _find(self, urls: Any) -> list[PictureState]:
        keys = await canonical_keys(urls, self._canonical_rules())
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            return await find_states(tx, keys)
