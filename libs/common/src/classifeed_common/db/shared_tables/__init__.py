"""SQLAlchemy tables of the shared mechanisms for a service's metadata (drift test), one module per table group."""

from __future__ import annotations

from classifeed_common.db.shared_tables.blob_refs import add_blob_refs
from classifeed_common.db.shared_tables.consumer_offsets import add_consumer_offsets
from classifeed_common.db.shared_tables.fetch_hosts import add_fetch_hosts
from classifeed_common.db.shared_tables.leases import add_leases
from classifeed_common.db.shared_tables.outbox import add_outbox

__all__ = ["add_blob_refs", "add_consumer_offsets", "add_fetch_hosts", "add_leases", "add_outbox"]
