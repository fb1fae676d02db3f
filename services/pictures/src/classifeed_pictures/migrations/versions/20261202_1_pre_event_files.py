"""Event files by name and ETag, with their progress."""

from alembic import op

revision = "20261202_1"
down_revision = "20261201_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE event_files (
            name text NOT NULL,
            etag text NOT NULL,
            size_bytes bigint NOT NULL,
            put_at timestamptz NOT NULL,
            state text NOT NULL DEFAULT 'WAITING' CHECK (state IN ('WAITING', 'DONE', 'FAILED', 'REPLACED')),
            rows bigint NOT NULL DEFAULT 0,
            wrong_rows bigint NOT NULL DEFAULT 0,
            error text,
            listed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz,
            PRIMARY KEY (name, etag),
            CHECK ((state = 'WAITING') = (ended_at IS NULL))
        )
        """
    )
    op.execute("CREATE INDEX event_files_ended ON event_files (ended_at) WHERE ended_at IS NOT NULL")
