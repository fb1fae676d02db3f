"""Job tables, version 4: the caller of the job API that made a live job."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261127_2"
down_revision = "20261127_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(jobs_ddl(4))
