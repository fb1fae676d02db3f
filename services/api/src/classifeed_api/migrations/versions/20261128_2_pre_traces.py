"""Uploads and removals store the trace in which they were acknowledged."""

from alembic import op

revision = "20261128_2"
down_revision = "20261128_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE uploads ADD COLUMN trace_context jsonb")
    op.execute("ALTER TABLE feed_deletions ADD COLUMN trace_context jsonb")
