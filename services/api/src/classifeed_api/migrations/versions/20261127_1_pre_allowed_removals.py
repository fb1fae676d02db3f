"""Uploads whose load may remove as much as it says."""

from alembic import op

revision = "20261127_1"
down_revision = "20261126_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE uploads ADD COLUMN allow_removals boolean NOT NULL DEFAULT false")
