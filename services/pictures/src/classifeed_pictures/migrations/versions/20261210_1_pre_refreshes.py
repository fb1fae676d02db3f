"""Refreshes of held pictures, recipients of their changes, and rules of robots.txt."""

from alembic import op

revision = "20261210_1"
down_revision = "20261209_1"
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
    op.execute(
        """
        CREATE TABLE robots_rules (
            origin text PRIMARY KEY,
            rules text,
            is_reachable boolean NOT NULL DEFAULT true,
            fresh_until timestamptz,
            claimed_until timestamptz
        )
        """
    )
    op.execute("CREATE INDEX robots_rules_age ON robots_rules (fresh_until)")
