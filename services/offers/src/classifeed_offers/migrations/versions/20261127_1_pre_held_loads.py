"""Held loads: a load that would remove too much waits for a decision. Sizes of namespaces are kept for a week."""

from alembic import op

revision = "20261127_1"
down_revision = "20261126_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE task_ends
            ADD COLUMN kept bigint NOT NULL DEFAULT 0,
            ADD COLUMN decision text CHECK (decision IN ('CONFIRM', 'REJECT')),
            ADD COLUMN hold bytea,
            DROP CONSTRAINT task_ends_outcome_check,
            ADD CONSTRAINT task_ends_outcome_check CHECK (outcome IN ('COMPLETED', 'INCOMPLETE', 'STALE', 'HELD'))
        """
    )
    op.execute(
        """
        CREATE TABLE namespace_sizes (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            day date NOT NULL,
            offers bigint NOT NULL,
            PRIMARY KEY (seller_id, namespace, day)
        )
        """
    )
    op.execute("CREATE INDEX namespace_sizes_day ON namespace_sizes (day)")
