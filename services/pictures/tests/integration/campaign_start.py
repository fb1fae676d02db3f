"""The start of a campaign: settings, servers, and the process from which all others are forked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from uuid import uuid4

from classifeed_common.db import Database
from classifeed_common.kafka import Cluster, KafkaProducer
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.stores import make_store
from classifeed_pictures.bootstrap import prepare
from classifeed_pictures.parts.tuning import Tuning
from classifeed_pictures.settings import PicturesSettings

from .campaign import Campaign
from .conftest import all_at_ends, reader_at_end
from .fleet import Fleet

_IMPATIENT: Final = Tuning(relay_lease_s=2, session_s=3, poll_records=2)


@asynccontextmanager
async def make_campaign(
    database: Database, kafka: EmbeddedKafka, s3: EmbeddedS3, *, tuning: Tuning = _IMPATIENT, **changes: str
) -> AsyncIterator[Campaign]:
    """Yield a campaign before its first process; `changes` override settings."""
    settings = {
        "DSN": database.dsn,
        "KAFKA_BOOTSTRAP": kafka.bootstrap,
        "S3_ENDPOINT": s3.endpoint,
        "S3_ACCESS_KEY": s3.access_key,
        "S3_SECRET_KEY": s3.secret_key,
        "BUCKET": f"pictures-{uuid4().hex[:12]}",
        "ALLOW_LOOPBACK": "true",
        "DECODERS": "1",
        "LOOK_AGAIN_S": "1",
        "HOST_FIRST_RATE": "1000",
        "HOST_HIGHEST_RATE": "1000",
        # Permits of killed processes expire later.
        "DOWNLOADS_PER_HOST": "100",
        "JOBS_LEASE_S": "600",
        "LOG_LEVEL": "error",
        **changes,
    }
    unknown = {name for name in settings if name.lower() not in PicturesSettings.model_fields}
    assert unknown == set(), "a process would ignore them"
    await prepare(PicturesSettings(kafka_bootstrap=kafka.bootstrap))
    await until(lambda: all_at_ends(database, kafka.bootstrap))
    blobs = make_store(s3, settings["BUCKET"], "pictures")
    await blobs.open()
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    reader = await asyncio.to_thread(reader_at_end, kafka.bootstrap)
    fleet = Fleet(database, {f"CLASSIFEED_PICTURES_{name}": value for name, value in settings.items()}, tuning)
    fleet.open()
    try:
        yield Campaign(database, blobs, producer, Cluster(kafka.bootstrap, client_id="campaign"), reader, fleet)
    finally:
        await asyncio.to_thread(fleet.close)
        await asyncio.to_thread(reader.close)
        await producer.close()
        await blobs.close()
