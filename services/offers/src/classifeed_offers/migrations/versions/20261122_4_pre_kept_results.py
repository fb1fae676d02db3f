"""Results are kept, so that they can be sent again."""

from alembic import op

revision = "20261122_4"
down_revision = "20261122_3"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE applied_batches ADD COLUMN result bytea")
    op.execute("ALTER TABLE task_ends ADD COLUMN digest bytea")
