"""Offsets of the consumer groups, leases of the shards."""

from alembic import op

from classifeed_common.db import ddl

revision = "20261121_1"
down_revision = None
PHASE = "pre"


def upgrade() -> None:
    # 128 rows a group and client, each moved several times a second: room for updates in place.
    op.execute(
        """
        CREATE TABLE offsets (
            "group" text NOT NULL,
            client text NOT NULL,
            queue smallint NOT NULL CHECK (queue BETWEEN 1 AND 3),
            shard smallint NOT NULL CHECK (shard BETWEEN 0 AND 63),
            idx bigint NOT NULL CHECK (idx >= 0),
            moved_at timestamptz NOT NULL,
            PRIMARY KEY ("group", client, queue, shard)
        ) WITH (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)
        """
    )
    op.execute(ddl("leases", 1))
