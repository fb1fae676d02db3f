"""Tasks store when their first run began, after the wait in the queue."""

from alembic import op

revision = "20261128_1"
down_revision = "20261127_5"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE tasks ADD COLUMN begun_at timestamptz")
