"""Registry, queues and schemas."""

from alembic import op

revision = "20261121_1"
down_revision = None
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE schemas (
            client text NOT NULL,
            epoch bigint NOT NULL CHECK (epoch > 0),
            state smallint NOT NULL CHECK (state BETWEEN 1 AND 3),
            schema bytea NOT NULL,
            create_time timestamptz NOT NULL,
            PRIMARY KEY (client, epoch)
        )
        """
    )
    op.execute("CREATE UNIQUE INDEX schemas_active ON schemas (client) WHERE state = 2")
    op.execute(
        """
        CREATE TABLE documents (
            client text NOT NULL,
            hash bigint NOT NULL,
            pk text NOT NULL,
            epoch bigint NOT NULL,
            version bigint NOT NULL,
            modify_timestamp timestamptz NOT NULL,
            status smallint NOT NULL CHECK (status BETWEEN 1 AND 2),
            compression smallint NOT NULL CHECK (compression BETWEEN 0 AND 1),
            expires_at timestamptz,
            stored_at timestamptz NOT NULL,
            document bytea STORAGE EXTERNAL NOT NULL,
            PRIMARY KEY (client, hash, pk)
        ) WITH (fillfactor = 85)
        """
    )
    op.execute("CREATE INDEX documents_expiring ON documents (expires_at) WHERE status = 1 AND expires_at IS NOT NULL")
    op.execute("CREATE INDEX documents_tombstones ON documents (stored_at) WHERE status = 2")
    # 64 rows a client and queue, each updated by every push that touches its shard: room for updates in place.
    op.execute(
        """
        CREATE TABLE shards (
            client text NOT NULL,
            queue smallint NOT NULL CHECK (queue BETWEEN 1 AND 3),
            shard smallint NOT NULL CHECK (shard BETWEEN 0 AND 63),
            last_idx bigint NOT NULL,
            trimmed_idx bigint NOT NULL DEFAULT 0 CHECK (trimmed_idx <= last_idx),
            PRIMARY KEY (client, queue, shard)
        ) WITH (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)
        """
    )
    op.execute(
        """
        CREATE TABLE elements (
            client text NOT NULL,
            queue smallint NOT NULL,
            shard smallint NOT NULL,
            idx bigint NOT NULL,
            hash bigint NOT NULL,
            pk text NOT NULL,
            epoch bigint NOT NULL,
            version bigint NOT NULL,
            modify_timestamp timestamptz NOT NULL,
            PRIMARY KEY (client, queue, shard, idx)
        ) WITH (autovacuum_vacuum_scale_factor = 0.05)
        """
    )
    op.execute(
        """
        CREATE TABLE failures (
            client text NOT NULL,
            queue smallint NOT NULL,
            shard smallint NOT NULL,
            idx bigint NOT NULL,
            pk text NOT NULL,
            reason text NOT NULL,
            failed_idx bigint NOT NULL,
            create_time timestamptz NOT NULL,
            PRIMARY KEY (client, queue, shard, idx)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE progress (
            client text NOT NULL,
            "group" text NOT NULL,
            queue smallint NOT NULL,
            shard smallint NOT NULL,
            idx bigint NOT NULL,
            reported_at timestamptz NOT NULL,
            PRIMARY KEY (client, "group", queue, shard)
        ) WITH (fillfactor = 50)
        """
    )
