"""Who has reviewed a text, beside what was found: whoever decides an appeal must be somebody else."""

from alembic import op

revision = "20261201_1"
down_revision = "20261130_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE kept_verdicts ADD COLUMN reviewers text[] NOT NULL DEFAULT '{}'")
    op.execute("ALTER TABLE callbacks ADD COLUMN reviewers text[] NOT NULL DEFAULT '{}'")
