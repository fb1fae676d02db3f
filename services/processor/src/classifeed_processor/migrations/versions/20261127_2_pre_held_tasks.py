"""Tasks can be held, and store the hold and the decision."""

from alembic import op

revision = "20261127_2"
down_revision = "20261127_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE tasks
            ADD COLUMN decision smallint NOT NULL DEFAULT 0,
            ADD COLUMN decided_at timestamptz,
            ADD COLUMN hold bytea,
            ADD COLUMN held_at timestamptz
        """
    )
