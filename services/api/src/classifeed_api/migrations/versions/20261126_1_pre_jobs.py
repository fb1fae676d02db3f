"""Tables of the job engine, which runs the clean-up."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261126_1"
down_revision = "20261121_3"
PHASE = "pre"


def upgrade() -> None:
    for version in (1, 2, 3):
        op.execute(jobs_ddl(version))
