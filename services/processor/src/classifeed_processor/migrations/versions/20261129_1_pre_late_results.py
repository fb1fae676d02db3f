"""Late errors of a task's offers, so that each counts once."""

from alembic import op

revision = "20261129_1"
down_revision = "20261128_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE late_errors (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            external_id text NOT NULL,
            error_id text NOT NULL,
            noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (seller_id, namespace, task_id, external_id, error_id)
        )
        """
    )
