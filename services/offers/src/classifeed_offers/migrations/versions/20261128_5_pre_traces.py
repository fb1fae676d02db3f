"""Trace of the newest run of a namespace, and since when it is the newest."""

from alembic import op

revision = "20261128_5"
down_revision = "20261128_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE task_heads ADD COLUMN trace_context jsonb, ADD COLUMN moved_at timestamptz")
