"""Indexes by age for the clean-up."""

from alembic import op

revision = "20261126_1"
down_revision = "20261124_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("CREATE INDEX offers_removed ON offers (updated_at) WHERE status = 'REMOVED'")
    op.execute("CREATE INDEX applied_batches_age ON applied_batches (applied_at)")
    op.execute("CREATE INDEX task_ends_age ON task_ends (received_at)")
