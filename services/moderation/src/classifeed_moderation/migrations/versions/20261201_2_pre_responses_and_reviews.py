"""Reviewers' responses to authors, and whether people of the verdict service review a text."""

from alembic import op

revision = "20261201_2"
down_revision = "20261201_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE appeals ADD COLUMN response text NOT NULL DEFAULT ''")
    op.execute("ALTER TABLE subjects ADD COLUMN is_with_people boolean NOT NULL DEFAULT false")
