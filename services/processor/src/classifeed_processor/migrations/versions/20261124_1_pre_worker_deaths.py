"""Job tables, version 3: deaths of workers, unknown faults, and who may end the jobs of tasks with a hook."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261124_1"
down_revision = "20261122_5"
PHASE = "pre"


def upgrade() -> None:
    op.execute(jobs_ddl(3))
