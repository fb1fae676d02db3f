"""States of pictures, waiting requests, namespaces and stored pictures."""

from alembic import op

revision = "20261201_1"
down_revision = None
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE pictures (
            url_hash bytea NOT NULL CHECK (octet_length(url_hash) = 16),
            url text NOT NULL,
            is_put boolean NOT NULL DEFAULT false,
            revision bigint NOT NULL DEFAULT 1,
            attempt bigint NOT NULL DEFAULT 0,
            attempt_at timestamptz,
            next_attempt_at timestamptz,
            failed_attempts integer NOT NULL DEFAULT 0,
            failure bytea,
            retry_at timestamptz,
            delete_mark_at timestamptz,
            requested_at timestamptz,
            holdings bytea NOT NULL,
            PRIMARY KEY (url_hash)
        ) WITH (fillfactor = 80)
        """
    )
    op.execute("CREATE INDEX pictures_due ON pictures (next_attempt_at, url_hash) WHERE next_attempt_at IS NOT NULL")
    op.execute(
        """
        CREATE TABLE requests_in_flight (
            url_hash bytea NOT NULL,
            namespace text NOT NULL,
            recipient text NOT NULL,
            reference text NOT NULL,
            requested_url text NOT NULL,
            requested_at timestamptz NOT NULL,
            reported_attempt bigint NOT NULL DEFAULT 0,
            PRIMARY KEY (url_hash, namespace, recipient, reference)
        )
        """
    )
    op.execute("CREATE INDEX requests_in_flight_age ON requests_in_flight (requested_at) WHERE reported_attempt = 0")
    op.execute("CREATE INDEX requests_in_flight_failed ON requests_in_flight (requested_at) WHERE reported_attempt > 0")
    op.execute(
        """
        CREATE TABLE namespaces (
            name text NOT NULL CHECK (name ~ '^[a-z][a-z0-9-]{0,31}$'),
            sizes jsonb NOT NULL,
            formats jsonb NOT NULL,
            quota_bytes bigint NOT NULL DEFAULT 0,
            changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (name)
        )
        """
    )
    # The namespaces of a new installation: pictures of offers, and pictures that shops upload.
    op.execute(
        """
        INSERT INTO namespaces (name, sizes, formats) VALUES
        ('offers',
         '[{"name": "small", "width": 160, "height": 160, "crop": false},
           {"name": "card", "width": 320, "height": 320, "crop": false},
           {"name": "large", "width": 1024, "height": 1024, "crop": false}]',
         '["jpeg", "webp"]'),
        ('shops', '[{"name": "card", "width": 320, "height": 320, "crop": false}]', '["jpeg", "webp"]')
        """
    )
    op.execute(
        """
        CREATE TABLE namespace_usage (
            namespace text NOT NULL,
            slot smallint NOT NULL,
            pictures bigint NOT NULL,
            bytes bigint NOT NULL,
            PRIMARY KEY (namespace, slot)
        ) WITH (fillfactor = 50)
        """
    )
    op.execute(
        """
        CREATE TABLE stored_pictures (
            namespace text NOT NULL,
            group_id integer NOT NULL,
            name text NOT NULL,
            url_hash bytea NOT NULL,
            attempt bigint NOT NULL,
            content_hash bytea NOT NULL,
            size_bytes bigint NOT NULL,
            total_bytes bigint NOT NULL,
            info bytea NOT NULL,
            pieces jsonb NOT NULL,
            stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (namespace, group_id, name)
        )
        """
    )
    op.execute("CREATE INDEX stored_pictures_url ON stored_pictures (url_hash)")
