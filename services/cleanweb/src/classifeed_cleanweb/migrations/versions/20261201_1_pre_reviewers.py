"""Reviewers of a text, stored with its verdicts: another person must decide an appeal."""

from alembic import op

revision = "20261201_1"
down_revision = "20261130_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE kept_verdicts ADD COLUMN reviewers text[] NOT NULL DEFAULT '{}'")
    op.execute("ALTER TABLE callbacks ADD COLUMN reviewers text[] NOT NULL DEFAULT '{}'")
