"""Tasks have a default currency, and issues a count of their occurrences in the offer."""

from alembic import op

revision = "20261127_5"
down_revision = "20261127_4"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE tasks ADD COLUMN default_currency text DEFAULT '' NOT NULL")
    op.execute("ALTER TABLE offer_errors ADD COLUMN count integer DEFAULT 1 NOT NULL")
