"""Sources store the currency for amounts without one."""

from alembic import op

revision = "20261127_2"
down_revision = "20261127_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE feed_loader_task ADD COLUMN default_currency text DEFAULT '' NOT NULL")
