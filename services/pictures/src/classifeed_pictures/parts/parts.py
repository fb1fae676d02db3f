"""The shared parts of pictures: built once, opened before all roles and closed after them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import grpc.aio

from classifeed_common.blobs import BlobStore
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.host_limits import HostLimits
from classifeed_common.kafka import DeadLetters, KafkaProducer
from classifeed_common.outbox import Outbox
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_common.runner.parts import channel_to, database_of
from classifeed_common.runner.snapshot_source import source_of
from classifeed_common.snapshot import Snapshot
from classifeed_common.spool import sweep_spool
from classifeed_imaging.processes.pool import DecodePool
from classifeed_pictures.app.files.measure_decoding import DecodeMeter
from classifeed_pictures.app.files.store_picture import StorePicture
from classifeed_pictures.clients.backup_bucket import BackupBucket
from classifeed_pictures.clients.event_bucket import EventBucket
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.urls.canonical import CanonicalRules
from classifeed_pictures.parts.outside import bucket_client, fetcher_of, host_policy, replica_of
from classifeed_pictures.parts.tuning import TUNING, Tuning
from classifeed_pictures.rules.loading import PACKAGED, canonical_snapshot
from classifeed_pictures.settings import PicturesSettings

_PUTS: Final = 32  # puts that may wait for a decoder in addition to all downloads


@dataclass(frozen=True, slots=True)
class Parts:
    """What the roles, servicers and routes of pictures share.

    Attributes:
        settings: settings of the service.
        tuning: periods and limits that are no settings.
        database: database of the service.
        replica: database from which states are read by passes; None: the same one.
        blobs: store of the bytes of pictures.
        events: event files, in the same bucket.
        backups: backups of the state, in the same bucket.
        producer: Kafka producer.
        letters: dead letters.
        outbox: outbox of transactions.
        canonical: rules of canonical URLs.
        hosts: permits for hosts.
        fetcher: HTTP client for untrusted URLs, with SSRF protection.
        decoder: pool of decoder processes.
        offers: channel to the offers service.
        rules: times of the lifecycle of pictures.
        store: stores the files of pictures.
    """

    settings: PicturesSettings
    tuning: Tuning
    database: Database
    replica: Database | None
    blobs: BlobStore
    events: EventBucket
    backups: BackupBucket
    producer: KafkaProducer
    letters: DeadLetters
    outbox: Outbox
    canonical: Snapshot[CanonicalRules]
    hosts: HostLimits
    fetcher: Fetcher
    decoder: DecodePool
    offers: grpc.aio.Channel
    rules: LifecycleRules
    store: StorePicture

    def canonical_rules(self) -> CanonicalRules:
        """Return the rules in force."""
        return self.canonical.current.value

    def rules_version(self) -> str:
        """Return the version of the rules in force."""
        return self.canonical.current.version

    async def open(self) -> None:
        """Open the parts, except those that the process waits for."""
        await asyncio.to_thread(sweep_spool, self.settings.spool_dir)
        await self.database.open()
        if self.replica is not None:
            await self.replica.open(must_respond=False)
        await self.producer.start()

    async def close(self) -> None:
        """Close the parts."""
        await self.decoder.stop()
        await self.offers.close()
        await self.fetcher.close()
        await self.hosts.close()
        await self.producer.close()
        await self.blobs.close()
        self.events.close()
        if self.replica is not None:
            await self.replica.close()
        await self.database.close()
        self.canonical.close()


def build_parts(settings: PicturesSettings, tuning: Tuning = TUNING) -> Parts:
    """Return the parts; nothing is opened yet. Call it inside the event loop.

    Raises:
        StartError: a setting cannot be used.
    """
    database = database_of(settings)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=settings.service_name())
    hosts = HostLimits(database, host_policy(settings))
    bucket = bucket_client(settings)
    blobs = blobs_of(settings, bucket=settings.bucket)
    return Parts(
        settings=settings,
        tuning=tuning,
        database=database,
        replica=replica_of(settings),
        blobs=blobs,
        events=EventBucket(bucket, settings.bucket),
        backups=BackupBucket(bucket, settings.bucket),
        producer=producer,
        letters=DeadLetters(producer),
        outbox=Outbox(),
        canonical=canonical_snapshot(source_of(settings, settings.canonical_rules, PACKAGED)),
        hosts=hosts,
        fetcher=fetcher_of(settings, tuning, hosts),
        decoder=DecodePool(
            processes=settings.decoders or None, waiting=settings.downloads + _PUTS, observer=DecodeMeter()
        ),
        offers=channel_to("offers", settings.offers_address, settings),
        rules=lifecycle_rules(settings),
        store=StorePicture(database, blobs, SystemClock()),
    )


def lifecycle_rules(settings: PicturesSettings) -> LifecycleRules:
    """Return the times of the lifecycle of a picture."""
    return LifecycleRules(
        delete_after=timedelta(seconds=settings.delete_after_s),
        refresh_after=timedelta(days=settings.refresh_days) if settings.refresh_days else None,
    )
