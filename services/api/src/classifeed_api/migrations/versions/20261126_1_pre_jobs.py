"""Tables of the job engine, which runs the clean-up."""

from alembic import op

from classifeed_jobs import ddl as jobs_ddl

revision = "20261126_1"
down_revision = "20261121_3"
PHASE = "pre"


def upgrade() -> None:
    op.execute(jobs_ddl(1))
    op.execute(jobs_ddl(2))


def downgrade() -> None:
    op.execute("DROP TABLE dl_schedules, dl_queues")
