"""Feeds by link, and one task queue per namespace for uploads and removals of feeds."""

from alembic import op

revision = "20261121_2"
down_revision = "20261121_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE feed (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            version bigint NOT NULL,
            published_version bigint NOT NULL,
            status smallint NOT NULL,
            settings bytea NOT NULL,
            sealed_credentials bytea NOT NULL,
            request_id text,
            created_at timestamptz NOT NULL,
            updated_at timestamptz NOT NULL,
            PRIMARY KEY (seller_id, namespace)
        )
        """
    )
    op.execute("CREATE INDEX feed_due ON feed (version) WHERE version > published_version")
    op.execute(
        """
        CREATE TABLE feed_deletions (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            version bigint NOT NULL,
            published_version bigint NOT NULL,
            disposition smallint NOT NULL,
            created_at timestamptz NOT NULL,
            PRIMARY KEY (seller_id, namespace, version)
        )
        """
    )
    op.execute(
        "CREATE INDEX feed_deletions_due ON feed_deletions (seller_id, namespace, version) "
        "WHERE version > published_version"
    )
    op.execute(
        "CREATE INDEX uploads_due_in_line ON uploads (seller_id, namespace, version) WHERE version > published_version"
    )
