"""Refreshes of held pictures, and who hears of their changes."""

from alembic import op

revision = "20261210_1"
down_revision = "20261206_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE pictures ADD COLUMN refresh_at timestamptz")
    op.execute(
        """
        CREATE TABLE settled_requests (
            url_hash bytea NOT NULL,
            request_hash bytea NOT NULL,
            namespace text NOT NULL,
            recipient text NOT NULL,
            reference text NOT NULL,
            requested_url text NOT NULL,
            PRIMARY KEY (url_hash, request_hash)
        )
        """
    )
