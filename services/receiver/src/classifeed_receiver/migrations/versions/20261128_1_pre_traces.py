"""Elements may have the trace context of their document's push."""

from alembic import op

revision = "20261128_1"
down_revision = "20261122_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE elements ADD COLUMN traceparent text")
