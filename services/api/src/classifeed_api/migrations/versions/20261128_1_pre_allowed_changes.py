"""Uploads whose load may change any number of prices and availabilities."""

from alembic import op

revision = "20261128_1"
down_revision = "20261127_4"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE uploads ADD COLUMN allow_changes boolean NOT NULL DEFAULT false")
