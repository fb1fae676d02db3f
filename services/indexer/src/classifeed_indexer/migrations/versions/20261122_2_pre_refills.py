"""Shards to refill from the registry."""

from alembic import op

revision = "20261122_2"
down_revision = "20261121_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE refills (
            "group" text NOT NULL,
            client text NOT NULL,
            shard smallint NOT NULL CHECK (shard BETWEEN 0 AND 63),
            reason text NOT NULL,
            requested_at timestamptz NOT NULL,
            after_hash bigint,
            after_pk text,
            last_idx bigint NOT NULL DEFAULT 0,
            documents bigint NOT NULL DEFAULT 0,
            is_scanned boolean NOT NULL DEFAULT false,
            PRIMARY KEY ("group", client, shard)
        )
        """
    )
