"""Tables of shared mechanisms: consumer positions, outbox, leases, references to files, hosts, jobs."""

from alembic import op

from classifeed_common.db import ddl
from classifeed_jobs import ddl as jobs_ddl

revision = "20261201_2"
down_revision = "20261201_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(ddl("consumer_offsets", 1))
    op.execute(ddl("outbox", 1))
    op.execute(ddl("leases", 1))
    op.execute(ddl("blob_refs", 1))
    op.execute(ddl("fetch_hosts", 1))
    for number in range(1, 5):
        op.execute(jobs_ddl(number))
