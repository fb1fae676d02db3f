"""Uploads whose load may remove any number of offers."""

from alembic import op

revision = "20261127_1"
down_revision = "20261126_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE uploads ADD COLUMN allow_removals boolean NOT NULL DEFAULT false")
