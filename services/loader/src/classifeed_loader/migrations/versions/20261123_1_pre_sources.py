"""Sources, and the history of their fetches."""

from alembic import op

revision = "20261123_1"
down_revision = None
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE feed_loader_task (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            feed_loader_task_id bigint GENERATED ALWAYS AS IDENTITY,
            feed_version bigint NOT NULL,
            status smallint NOT NULL,
            url text NOT NULL,
            sealed_credentials bytea NOT NULL,
            interval_s double precision NOT NULL,
            mode smallint NOT NULL,
            disposition smallint NOT NULL,
            format text NOT NULL,
            etag text NOT NULL DEFAULT '',
            last_modified text NOT NULL DEFAULT '',
            last_hash text NOT NULL DEFAULT '',
            last_bytes bigint NOT NULL DEFAULT 0,
            last_result_id bigint NOT NULL DEFAULT 0,
            last_fetched_at timestamptz,
            next_due_at timestamptz,
            failures integer NOT NULL DEFAULT 0,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (seller_id, namespace),
            UNIQUE (feed_loader_task_id)
        )
        """
    )
    op.execute(
        "CREATE INDEX feed_loader_task_due ON feed_loader_task (next_due_at, last_fetched_at NULLS FIRST)"
        " WHERE next_due_at IS NOT NULL"
    )
    op.execute(
        """
        CREATE TABLE feed_fetches (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            feed_loader_result_id bigint GENERATED ALWAYS AS IDENTITY,
            feed_version bigint NOT NULL,
            trigger smallint NOT NULL,
            forced boolean NOT NULL DEFAULT false,
            request_id text,
            slot_at timestamptz,
            outcome smallint NOT NULL,
            code text NOT NULL DEFAULT '',
            message text NOT NULL DEFAULT '',
            http_status integer NOT NULL DEFAULT 0,
            bytes bigint NOT NULL DEFAULT 0,
            sha256 text NOT NULL DEFAULT '',
            final_url text NOT NULL DEFAULT '',
            etag text NOT NULL DEFAULT '',
            last_modified text NOT NULL DEFAULT '',
            task text NOT NULL DEFAULT '',
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            started_at timestamptz,
            downloaded_at timestamptz,
            ended_at timestamptz,
            PRIMARY KEY (seller_id, namespace, feed_loader_result_id)
        )
        """
    )
    op.execute(
        "CREATE UNIQUE INDEX feed_fetches_request ON feed_fetches (seller_id, request_id) WHERE request_id IS NOT NULL"
    )
    op.execute(
        "CREATE UNIQUE INDEX feed_fetches_slot ON feed_fetches (seller_id, namespace, slot_at)"
        " WHERE slot_at IS NOT NULL"
    )
    op.execute(
        "CREATE UNIQUE INDEX feed_fetches_scheduled ON feed_fetches (seller_id, namespace)"
        " WHERE slot_at IS NOT NULL AND ended_at IS NULL"
    )
