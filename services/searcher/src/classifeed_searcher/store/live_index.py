"""State of a client's index for searches: the current generation, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from classifeed_common.errors import Unavailable
from classifeed_searcher.domain.rebuild import Rebuild
from classifeed_searcher.store.catch_up import CatchUp
from classifeed_searcher.store.generation import IndexGeneration

_OPENING: Final = "it is being opened"


class LiveIndex:
    """The index of a client as searches see it; the client's IndexKeeper and IndexVerifier set the fields.

    Attributes:
        client: client of the documents.
        generation: generation that is searched; None: none may be searched now.
        rebuild: progress of a rebuild; None: there is none.
        catch_up: progress of a stored generation's catch-up; it stays set if the generation is searched behind.
        has_schema: whether the client has a schema; without one there are no documents.
        is_new: whether the client's first schema came while this searcher was running. Until the first index is built,
            searches then return no hits instead of an error.
        equal: number of shards that were found equal to the registry.
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
        """Return the generation to search; None: the client has no schema, or no index for its first schema yet.

        Raises:
            Unavailable: the index is being rebuilt, or catches up after a start.
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
        """Check that the index can be searched; for readiness.

        Raises:
            Unavailable: as `require`.
        """
        self.require()

    def searchable(self, shard: int) -> int:
        """Return the index of the last searchable element of a shard's queue `main`."""
        return self.generation.searchable(shard) if self.generation else 0
