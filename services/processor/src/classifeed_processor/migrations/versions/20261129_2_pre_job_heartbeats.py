"""Job tables, version 5: the last heartbeat of a completed job, and the overlap of schedules."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261129_2"
down_revision = "20261129_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(jobs_ddl(5))
