"""Offers, and the tables that decide which loads may change them."""

from alembic import op

revision = "20261121_1"
down_revision = None
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE offers (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            external_id text NOT NULL,
            offer_id bigint GENERATED ALWAYS AS IDENTITY,
            content bytea NOT NULL,
            content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 16),
            published_content bytea,
            origin text NOT NULL CHECK (origin IN ('FEED', 'MANUAL')),
            status text NOT NULL CHECK (status IN ('PENDING', 'ACTIVE', 'REJECTED', 'BANNED', 'REMOVED')),
            last_task_id bigint NOT NULL,
            last_change text NOT NULL CHECK (last_change IN ('ADDED', 'UPDATED', 'REMOVED', 'MADE_MANUAL')),
            moderation text NOT NULL,
            version bigint NOT NULL,
            published_version bigint NOT NULL DEFAULT 0,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (seller_id, namespace, external_id)
        )
        """
    )
    op.execute("CREATE UNIQUE INDEX offers_offer_id ON offers (offer_id)")
    op.execute("CREATE INDEX offers_due ON offers (version) WHERE version > published_version")
    op.execute(
        """
        CREATE TABLE task_heads (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            run integer NOT NULL,
            PRIMARY KEY (seller_id, namespace)
        ) WITH (fillfactor = 50)
        """
    )
    op.execute(
        """
        CREATE TABLE applied_batches (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            run integer NOT NULL,
            batch_id bigint NOT NULL,
            digest bytea NOT NULL,
            seen bigint[],
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (seller_id, namespace, task_id, run, batch_id)
        )
        """
    )
    op.execute("CREATE INDEX applied_batches_seen ON applied_batches (seller_id, namespace) WHERE seen IS NOT NULL")
    op.execute(
        """
        CREATE TABLE task_ends (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            run integer NOT NULL,
            batch_count bigint NOT NULL,
            disposition text NOT NULL CHECK (disposition IN ('DELETE', 'MAKE_MANUAL')),
            outcome text CHECK (outcome IN ('COMPLETED', 'INCOMPLETE', 'STALE')),
            planned_at timestamptz,
            removed bigint NOT NULL DEFAULT 0,
            made_manual bigint NOT NULL DEFAULT 0,
            received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz,
            PRIMARY KEY (seller_id, namespace, task_id, run)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE sweep_slices (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            run integer NOT NULL,
            slice integer NOT NULL,
            offer_ids bigint[] NOT NULL,
            PRIMARY KEY (seller_id, namespace, task_id, run, slice)
        )
        """
    )
