"""Job tables, version 5: the last heartbeat of a completed job, and the overlap of schedules."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261201_3"
down_revision = "20261201_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute(jobs_ddl(5))
