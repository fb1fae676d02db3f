"""Sources know the currency of amounts for which their files name none."""

from alembic import op

revision = "20261127_2"
down_revision = "20261127_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE feed_loader_task ADD COLUMN default_currency text DEFAULT '' NOT NULL")
