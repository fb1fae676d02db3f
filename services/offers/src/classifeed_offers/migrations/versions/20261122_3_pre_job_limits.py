"""Job tables, version 2: limits and rotation of queues, schedules, indexes of done jobs."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261122_3"
down_revision = "20261121_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute(jobs_ddl(2))
