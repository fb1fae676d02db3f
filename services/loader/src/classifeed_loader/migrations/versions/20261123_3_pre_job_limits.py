"""Job tables, version 2: limits and rotation of queues, schedules, indexes of completed jobs."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261123_3"
down_revision = "20261123_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute(jobs_ddl(2))
