"""Tables of the schema `pictures`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from classifeed_common.db import shared_tables
from classifeed_jobs import add_jobs
from classifeed_pictures.store.events.event_file_table import add_event_files
from classifeed_pictures.store.mark_table import add_marks

metadata = MetaData()
_NOW = text("clock_timestamp()")

# One row per URL, independent of the number of shards; the consumer of its hash's partition changes it.
pictures = Table(
    "pictures",
    metadata,
    Column("url_hash", LargeBinary, primary_key=True),
    Column("url", Text, nullable=False),
    Column("is_put", Boolean, nullable=False, server_default=text("false")),
    # Grows with each change; a writer that read an older revision starts again.
    Column("revision", BigInteger, nullable=False, server_default=text("1")),
    Column("attempt", BigInteger, nullable=False, server_default=text("0")),
    Column("attempt_at", DateTime(timezone=True)),
    Column("next_attempt_at", DateTime(timezone=True)),
    Column("failed_attempts", Integer, nullable=False, server_default=text("0")),
    # LoadFailure of the last download.
    Column("failure", LargeBinary),
    Column("retry_at", DateTime(timezone=True)),
    Column("delete_mark_at", DateTime(timezone=True)),
    Column("requested_at", DateTime(timezone=True)),
    # Time of the next refresh; next_attempt_at is no later.
    Column("refresh_at", DateTime(timezone=True)),
    # HoldingRecords: the holdings of all namespaces.
    Column("holdings", LargeBinary, nullable=False),
)
Index(
    "pictures_due",
    pictures.c.next_attempt_at,
    pictures.c.url_hash,
    postgresql_where=pictures.c.next_attempt_at.is_not(None),
)

# Requests that wait for a picture: a success settles and removes them, a lasting failure is reported once.
requests_in_flight = Table(
    "requests_in_flight",
    metadata,
    Column("url_hash", LargeBinary, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("recipient", Text, primary_key=True),
    Column("reference", Text, primary_key=True),
    Column("requested_url", Text, nullable=False),
    Column("requested_at", DateTime(timezone=True), nullable=False),
    # Attempt whose failure was reported; 0: none was.
    Column("reported_attempt", BigInteger, nullable=False, server_default=text("0")),
    # See classifeed_pictures.domain.lifecycle.recipients; empty in older rows.
    Column("client", Text, nullable=False, server_default=text("''")),
)
Index("requests_in_flight_age", requests_in_flight.c.requested_at, postgresql_where=text("reported_attempt = 0"))
Index("requests_in_flight_failed", requests_in_flight.c.requested_at, postgresql_where=text("reported_attempt > 0"))

# Requests that a picture has settled: their recipients get its replacements and its deletion.
settled_requests = Table(
    "settled_requests",
    metadata,
    Column("url_hash", LargeBinary, primary_key=True),
    # 16 bytes of BLAKE2b over the rest, so that the key is short for any texts.
    Column("request_hash", LargeBinary, primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("reference", Text, nullable=False),
    Column("requested_url", Text, nullable=False),
    Column("client", Text, nullable=False, server_default=text("''")),
)
for _requests in (requests_in_flight, settled_requests):
    # A comparison looks here for clients other than offers.
    Index(f"{_requests.name}_others", _requests.c.url_hash, postgresql_where=_requests.c.client != "offers")

namespaces = Table(
    "namespaces",
    metadata,
    Column("name", Text, primary_key=True),
    # [{"name": …, "width": …, "height": …, "crop": …}]
    Column("sizes", JSONB, nullable=False),
    Column("formats", JSONB, nullable=False),
    Column("quota_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("changed_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)

# Usage of each namespace, split over several rows; storing a picture changes one of them.
namespace_usage = Table(
    "namespace_usage",
    metadata,
    Column("namespace", Text, primary_key=True),
    Column("slot", SmallInteger, primary_key=True, autoincrement=False),
    Column("pictures", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
)

# Stored pictures by address. They refer to files by content hash.
stored_pictures = Table(
    "stored_pictures",
    metadata,
    Column("namespace", Text, primary_key=True),
    Column("group_id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("url_hash", LargeBinary, nullable=False),
    # Attempt that stored it last; an older order does not delete it.
    Column("attempt", BigInteger, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    # Bytes of the original and of its versions, as the quota counts them.
    Column("total_bytes", BigInteger, nullable=False),
    # PictureInfo.
    Column("info", LargeBinary, nullable=False),
    # Places of its smaller versions, see classifeed_pictures.store.files.stored.
    Column("pieces", JSONB, nullable=False),
    Column("stored_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    # True for the address of an older key, which leads to the picture of url_hash's key as long as there is one.
    Column("is_alias", Boolean, nullable=False, server_default=text("false")),
    # See classifeed_pictures.domain.similarity; null in rows of the previous release until they are filled.
    Column("similarity_key", BigInteger),
)
Index("stored_pictures_url", stored_pictures.c.url_hash)
Index(
    "stored_pictures_without_key",
    stored_pictures.c.namespace,
    stored_pictures.c.group_id,
    stored_pictures.c.name,
    postgresql_where=stored_pictures.c.similarity_key.is_(None),
)
for _number, _shift in enumerate((48, 32, 16, 0), 1):
    Index(
        f"stored_pictures_piece_{_number}",
        text(f"(((similarity_key >> {_shift}) & 65535)::integer)"),
        stored_pictures.c.similarity_key,
        postgresql_where=text("bit_count(similarity_key::bit(64)) >= 8"),
    )

# Rules of robots.txt, if the service obeys them.
robots_rules = Table(
    "robots_rules",
    metadata,
    # <scheme>://<host>:<port>
    Column("origin", Text, primary_key=True),
    Column("rules", Text),
    Column("is_reachable", Boolean, nullable=False, server_default=text("true")),
    Column("fresh_until", DateTime(timezone=True)),
    # End of the claim of the process that fetches them.
    Column("claimed_until", DateTime(timezone=True)),
)
Index("robots_rules_age", robots_rules.c.fresh_until)

comparisons = Table(
    "comparisons",
    metadata,
    Column("comparison_id", BigInteger, Identity(always=True), primary_key=True),
    Column("state", Text, nullable=False, server_default=text("'RUNNING'")),
    # Time of the export of used URLs; null until it began.
    Column("snapshot_at", DateTime(timezone=True)),
    Column("compared", BigInteger, nullable=False, server_default=text("0")),
    Column("unused", BigInteger, nullable=False, server_default=text("0")),
    Column("is_confirmed", Boolean, nullable=False, server_default=text("false")),
    Column("began_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
)

# URLs that offers use, for the running or held comparison.
used_urls = Table(
    "used_urls",
    metadata,
    Column("comparison_id", BigInteger, ForeignKey("comparisons.comparison_id", ondelete="CASCADE"), primary_key=True),
    Column("url_hash", LargeBinary, primary_key=True),
)

# Rules of canonical URLs, one row per change.
canonical_rules = Table(
    "canonical_rules",
    metadata,
    Column("rules_id", BigInteger, Identity(always=True), primary_key=True),
    Column("version", Text, nullable=False),
    Column("document", JSONB, nullable=False),
    Column("found_at", DateTime(timezone=True), nullable=False, server_default=_NOW),
    # Time when no state was left under a key that they do not make; null: not yet.
    Column("rekeyed_at", DateTime(timezone=True)),
)

# Times from which on events may be missing; the pictures of all offers must then be requested again.
event_gaps = Table(
    "event_gaps",
    metadata,
    # Microseconds since 1970, so that no number is reused after a restore.
    Column("gap_id", BigInteger, primary_key=True, autoincrement=False),
    Column("cause", Text, nullable=False),
    # Time when offers accepted the request; null: not yet.
    Column("closed_at", DateTime(timezone=True)),
)

add_event_files(metadata)
shared_tables.add_consumer_offsets(metadata)
shared_tables.add_outbox(metadata)
shared_tables.add_leases(metadata)
shared_tables.add_blob_refs(metadata)
shared_tables.add_fetch_hosts(metadata)
add_marks(metadata)
add_jobs(metadata)
