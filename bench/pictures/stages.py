"""CPU of each stage of a download in its process, one picture after another."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from typing import Final
from unittest.mock import patch

from bench.kit.cpu import cpu_of_tree, spent
from bench.kit.report import Report, by_name
from bench.kit.running import scratch
from bench.pictures.hosts import SIZE_BYTES, drawing, encoded
from bench.pictures.installation import Installation
from classifeed_common.fetch import Fetched, FetchRequest
from classifeed_imaging.measuring import measure_stages
from classifeed_imaging.model import SizeSpec
from classifeed_imaging.processes.pool import DecodePool
from classifeed_pictures.app.files.specify_sizes import specify_sizes
from classifeed_pictures.app.files.store_picture import Source
from classifeed_pictures.domain.urls.canonical import url_hash
from classifeed_pictures.parts import build_parts
from classifeed_pictures.settings import PicturesSettings
from classifeed_pictures.store.files.namespaces import find_namespace

_CARD: Final = SizeSpec("card", 320, 320, crop=False)
_SHIPPED: Final = [SizeSpec("small", 160, 160, crop=False), _CARD, SizeSpec("large", 1024, 1024, crop=False)]


def measure(installation: Installation, urls: Sequence[str], report: Report) -> None:
    """Fetch, decode and store pictures; show the CPU of each stage and of the servers meanwhile."""
    with patch.dict(os.environ, installation.environment):
        settings = PicturesSettings()
    content = encoded(drawing(), SIZE_BYTES)
    for name, found_sizes, formats in (("one size", [_CARD], ["jpeg"]), ("3 sizes", _SHIPPED, ["jpeg", "webp"])):
        spent = {stage: spent_ms * 1e3 for stage, spent_ms in measure_stages(content, found_sizes, formats).items()}
        report.show(f"  CPU µs of decoding a picture, {name}", by_name(spent))
    found = asyncio.run(_measure(settings, urls, installation))
    for stage, cost in found.items():
        report.show(f"  CPU µs a picture, {stage} alone", by_name(cost))


async def _measure(
    settings: PicturesSettings, urls: Sequence[str], installation: Installation
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    parts = build_parts(settings)
    await parts.open()
    try:
        async with parts.database.transaction() as tx:
            namespace = await find_namespace(tx, "bench")
        assert namespace is not None
        with scratch() as folder:
            await parts.decoder.start()
            watch = _Watch(installation, parts.decoder, len(urls))
            files = []
            for number, url in enumerate(urls):
                path = folder / str(number)
                fetched = await parts.fetcher.fetch(FetchRequest(url), path)
                assert isinstance(fetched, Fetched)
                files.append(path)
            found["fetch"] = watch.take()
            decoded = [await parts.decoder.decode(path, specify_sizes(namespace), namespace.formats) for path in files]
            found["decode"] = watch.take()
            for url, picture in zip(urls, decoded, strict=True):
                await parts.store(Source(url_hash(url)), namespace, picture, attempt=1)
            found["store"] = watch.take()
    finally:
        await parts.close()
    return found


class _Watch:
    def __init__(self, installation: Installation, decoder: DecodePool, count: int) -> None:
        self._installation = installation
        self._decoder = decoder
        self._count = count
        self._last = self._now()

    def take(self) -> dict[str, float]:
        """Return the CPU since the last call, in µs a picture."""
        before, self._last = self._last, self._now()
        return spent(before, self._last, self._count)

    def _now(self) -> dict[str, float]:
        decoders = sum(map(cpu_of_tree, self._decoder.pids))
        return {"itself": time.process_time(), "decoders": decoders, **self._installation.cpu()}
