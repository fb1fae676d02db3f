"""What searches of a client see: its current generation, or why there is none."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from classifeed_common.errors import Unavailable
from classifeed_searcher.domain.rebuild import Rebuild
from classifeed_searcher.store.catch_up import CatchUp
from classifeed_searcher.store.generation import IndexGeneration

_OPENING: Final = "it is being opened"


class LiveIndex:
    """The index of a client as others see it; the role that keeps it sets the fields.

    Attributes:
        client: whose documents.
        generation: what is searched; None while there is nothing that may be shown.
        rebuild: the generation on its way from the registry.
        catch_up: the stored generation on its way along the topic, or searched although that does not advance.
        has_schema: False while the client has no schema, so that there is nothing to search.
        is_new: the client got its first schema under this searcher: nothing could be found before, and nothing is
            missing until its first index is made.
        equal: how many shards were found equal to the registry and have not changed since.
        differing: shards that differ from the registry.
    """

    def __init__(self, client: str) -> None:
        self.client = client
        self.generation: IndexGeneration | None = None
        self.rebuild: Rebuild | None = None
        self.catch_up: CatchUp | None = None
        self.has_schema = True
        self.is_new = False
        self.equal = 0
        self.differing: Collection[int] = ()

    def require(self) -> IndexGeneration | None:
        """Return what is searched; None while the client has no schema, or no index for its first one.

        Raises:
            Unavailable: the index is not whole, or not up to date after a start.
        """
        if self.generation is None and self.has_schema and not self.is_new:
            if self.catch_up is not None:
                raise Unavailable(
                    "INDEX_CATCHING_UP",
                    f"Not searched yet: {self.catch_up.describe(self.client)}. Call another replica, or try again "
                    f"later.",
                    metadata={"client": self.client},
                    retry_after_s=2,
                )
            why = self.rebuild.describe(self.client) if self.rebuild else _OPENING
            raise Unavailable(
                "INDEX_REBUILDING",
                f"The index of {self.client} is incomplete: {why}. Call another replica, or try again later.",
                metadata={"client": self.client},
                retry_after_s=5,
            )
        return self.generation

    async def check(self) -> None:
        """Pass when the index can be searched; for readiness.

        Raises:
            Unavailable: as `require`.
        """
        self.require()

    def searchable(self, shard: int) -> int:
        """Return the greatest element of a shard's live queue that can be found."""
        return self.generation.searchable(shard) if self.generation else 0
