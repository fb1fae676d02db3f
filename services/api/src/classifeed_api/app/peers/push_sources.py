"""Sends changed feeds to the loader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

import structlog

from classifeed.feeds.v1.feed_source_service_pb2 import SourceRecord
from classifeed_api.domain.feeds import source_of
from classifeed_api.store import feeds
from classifeed_common.errors import InvalidArgument

log = structlog.get_logger(__name__)

# A source with the largest allowed credentials has about 80 KB; a full batch of such sources is too large a message.
_CALL_BYTES: Final = 4 * 1024 * 1024


class Sources(Protocol):
    """The loader, as this use case needs it."""

    async def put_sources(self, sources: Sequence[SourceRecord]) -> Sequence[int]:
        """Return for each source the version that the loader has after the call, in order.

        Raises:
            InvalidArgument: the loader refuses a source; it has stored none of them.
        """


class PushSources:
    """Pushes due feeds to the loader. Repeating a push is safe: the loader orders by version."""

    def __init__(self, loader: Sources) -> None:
        self._loader = loader

    async def __call__(self, rows: Sequence[tuple[Any, ...]]) -> Sequence[bool]:
        """Return for each due row whether the loader has its version or a newer one. A refused row does not hold up
        others.
        """
        taken: list[bool] = []
        for sources in _calls([source_of(feeds.feed_of(row[1:])) for row in rows]):
            taken += await self._put(sources)
        return taken

    async def _put(self, sources: Sequence[SourceRecord]) -> list[bool]:
        try:
            known = await self._loader.put_sources(sources)
        except InvalidArgument as error:
            if len(sources) > 1:
                half = len(sources) // 2
                return [*await self._put(sources[:half]), *await self._put(sources[half:])]
            [source] = sources
            log.warning(
                "api.put_sources.refused", seller=source.seller_id, namespace=source.namespace, error=str(error)
            )
            return [False]
        return [version >= source.feed_version for version, source in zip(known, sources, strict=True)]


def _calls(sources: Sequence[SourceRecord]) -> Iterator[Sequence[SourceRecord]]:
    begin, size_bytes = 0, 0
    for at, source in enumerate(sources):
        size_bytes += source.ByteSize()
        if size_bytes > _CALL_BYTES and at > begin:
            yield sources[begin:at]
            begin, size_bytes = at, source.ByteSize()
    yield sources[begin:]
