"""Tasks request missing replies again, and store the job that runs them."""

from alembic import op

revision = "20261122_5"
down_revision = "20261122_3"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE tasks ADD COLUMN job_id uuid")
    op.execute("ALTER TABLE tasks ADD COLUMN window_state smallint DEFAULT 0 NOT NULL")
    op.execute("ALTER TABLE tasks ADD COLUMN asks integer DEFAULT 0 NOT NULL")
    op.execute("ALTER TABLE tasks ADD COLUMN asked_at timestamptz")
    op.execute("ALTER TABLE tasks ADD COLUMN sent_at timestamptz")
