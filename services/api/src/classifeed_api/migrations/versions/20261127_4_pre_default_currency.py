"""Uploads store the currency for amounts without one."""

from alembic import op

revision = "20261127_4"
down_revision = "20261127_3"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE uploads ADD COLUMN default_currency text DEFAULT '' NOT NULL")
