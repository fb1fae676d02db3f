"""Job tables, version 4: which caller of the job API made a job that has not ended."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261127_4"
down_revision = "20261127_3"
PHASE = "pre"


def upgrade() -> None:
    op.execute(jobs_ddl(4))
