"""The shared parts of pictures: built once, opened before all roles and closed after them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import grpc.aio

from classifeed_common.blobs import BlobStore
from classifeed_common.blobs.client import S3Client
from classifeed_common.db import Database
from classifeed_common.fetch import AddressGuard, FetchLimits, KeepAlive
from classifeed_common.fetch.faults import PICTURE_FIXES
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.host_limits import HostLimits, HostPolicy
from classifeed_common.kafka import DeadLetters, KafkaProducer
from classifeed_common.outbox import Outbox
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_common.runner.parts import channel_to, database_of
from classifeed_common.runner.snapshot_source import source_of
from classifeed_common.snapshot import Snapshot
from classifeed_common.spool import sweep_spool
from classifeed_pictures.app.files.measure_decoding import DecodeMeter
from classifeed_pictures.clients.backup_bucket import BackupBucket
from classifeed_pictures.clients.event_bucket import EventBucket
from classifeed_pictures.decoding.processes.pool import DecodePool
from classifeed_pictures.domain.urls.canonical import CanonicalRules
from classifeed_pictures.rules.loading import PACKAGED, canonical_snapshot
from classifeed_pictures.settings import PicturesSettings

_PUTS = 32  # puts that may wait for a decoder in addition to all downloads
_LISTINGS = 2
_REDIRECTS = 3
_KEEP = KeepAlive(idle_s=15, per_host=2, overall=100)


@dataclass(frozen=True, slots=True)
class Base:
    """Stores, queues and clients.

    Attributes:
        settings: settings of the service.
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
    """

    settings: PicturesSettings
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

    @classmethod
    def of(cls, settings: PicturesSettings, *, client_id: str) -> Base:
        """Return all parts; nothing is opened yet."""
        database = database_of(settings)
        producer = KafkaProducer(settings.kafka_bootstrap, client_id=client_id)
        hosts = HostLimits(database, host_policy(settings))
        bucket = bucket_client(settings)
        return cls(
            settings=settings,
            database=database,
            replica=replica_of(settings),
            blobs=blobs_of(settings, bucket=settings.bucket),
            events=EventBucket(bucket, settings.bucket),
            backups=BackupBucket(bucket, settings.bucket),
            producer=producer,
            letters=DeadLetters(producer),
            outbox=Outbox(),
            canonical=canonical_snapshot(source_of(settings, settings.canonical_rules, PACKAGED)),
            hosts=hosts,
            fetcher=fetcher_of(settings, hosts),
            decoder=DecodePool(
                processes=settings.decoders or None, waiting=settings.downloads + _PUTS, observer=DecodeMeter()
            ),
            offers=channel_to("offers", settings.offers_address, settings),
        )

    def canonical_rules(self) -> CanonicalRules:
        """Return the rules in force."""
        return self.canonical.current.value

    def rules_version(self) -> str:
        """Return the version of the rules in force."""
        return self.canonical.current.version

    async def start(self) -> None:
        """Open the parts."""
        await asyncio.to_thread(sweep_spool, self.settings.spool_dir)
        await self.database.open()
        if self.replica is not None:
            await self.replica.open(must_respond=False)
        await self.producer.start()

    async def stop(self) -> None:
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


def host_policy(settings: PicturesSettings) -> HostPolicy:
    """Return the limits of requests to a host, over all processes."""
    return HostPolicy(
        first_rate=settings.host_first_rate,
        highest_rate=settings.host_highest_rate,
        at_a_time=settings.downloads_per_host,
    )


def fetcher_of(settings: PicturesSettings, hosts: HostLimits) -> Fetcher:
    """Return the HTTP client for untrusted URLs, with SSRF protection."""
    return Fetcher(
        guard=AddressGuard(allow_loopback=settings.allow_loopback),
        limits=FetchLimits(
            max_bytes=settings.download_max_bytes, total_s=settings.download_total_s, redirects=_REDIRECTS
        ),
        keep=_KEEP,
        permits=hosts,
        proxy=settings.proxy.get_secret_value() if settings.proxy is not None else None,
        user_agent="Classifeed/0.1 (+pictures)",
        fixes=PICTURE_FIXES,
    )


def bucket_client(settings: PicturesSettings) -> S3Client:
    """Return the client for the other objects in the bucket of the pictures."""
    return S3Client(
        settings.s3_endpoint,
        settings.s3_access_key,
        settings.s3_secret_key.get_secret_value(),
        threads=_LISTINGS,
        retries=2,
    )


def replica_of(settings: PicturesSettings) -> Database | None:
    """Return the database from which passes read states, if it is a replica."""
    if not settings.replica_dsn.get_secret_value():
        return None
    return database_of(settings.model_copy(update={"dsn": settings.replica_dsn}))
