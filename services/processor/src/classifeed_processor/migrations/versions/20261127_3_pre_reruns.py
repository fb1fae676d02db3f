"""Tasks can load the file of an earlier task again."""

from alembic import op

revision = "20261127_3"
down_revision = "20261127_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE tasks ADD COLUMN rerun_of bigint, ADD COLUMN request_id text")
    op.execute("CREATE UNIQUE INDEX tasks_request_id ON tasks (seller_id, request_id) WHERE request_id IS NOT NULL")
