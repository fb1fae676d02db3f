"""Job tables, version 4: the API caller that created an open job."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261127_1"
down_revision = "20261124_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(jobs_ddl(4))
