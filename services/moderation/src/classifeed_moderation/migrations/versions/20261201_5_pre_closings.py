"""Keys whose reviews the verdict service must close."""

from alembic import op

revision = "20261201_5"
down_revision = "20261201_4"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE closings (
            sent_key text PRIMARY KEY,
            cache_key bytea NOT NULL,
            noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            due_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute("CREATE INDEX closings_due ON closings (due_at)")
    op.execute("CREATE INDEX closings_age ON closings (noted_at)")
