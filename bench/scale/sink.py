"""A process with the searcher's sink for the topic: its consumer group shares the shards.

python -m bench.scale.sink BROKERS TOPIC GROUP FOLDER
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from classifeed_common.kafka import OrderedConsumer
from classifeed_offers.domain.documents import schema
from classifeed_searcher.consumers.index_sink import IndexSink
from classifeed_searcher.settings import SearcherSettings
from classifeed_searcher.store.generation import IndexGeneration
from classifeed_searcher.store.positions import IndexPositions


async def run(brokers: str, topic: str, group: str, folder: Path) -> None:
    """Consume documents until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    generation = IndexGeneration.create(folder, schema())
    consumer = OrderedConsumer(
        bootstrap=brokers,
        group=group,
        topics=[topic],
        positions=IndexPositions(generation),
        handle=IndexSink(generation),
        dead_letters=None,
        max_records=SearcherSettings.model_fields["batch_records"].default,
    )
    await consumer.run(stop)
    generation.close()


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])))
