"""Clients of requests: comparisons delete only pictures that no client but offers has requested.

Older rows have no client, so that no comparison deletes their pictures until offers requests them again.
"""

from alembic import op

revision = "20261214_1"
down_revision = "20261211_1"
PHASE = "pre"
_TABLES = ("requests_in_flight", "settled_requests")


def upgrade() -> None:
    for table in _TABLES:
        op.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS client text NOT NULL DEFAULT ''")
    with op.get_context().autocommit_block():
        for table in _TABLES:
            # An attempt that died may have left an index that is not usable.
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {table}_others")
            op.execute(f"CREATE INDEX CONCURRENTLY {table}_others ON {table} (url_hash) WHERE client <> 'offers'")
