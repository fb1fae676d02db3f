"""Tables of the shared mechanisms: positions of the consumer, jobs."""

from alembic import op

from classifeed_common.db import ddl
from classifeed_jobs import ddl as jobs_ddl

revision = "20261121_2"
down_revision = "20261121_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(ddl("consumer_offsets", 1))
    op.execute(jobs_ddl(1))
