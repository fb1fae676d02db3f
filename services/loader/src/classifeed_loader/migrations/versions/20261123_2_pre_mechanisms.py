"""Tables of shared mechanisms: leases, references to files, jobs; and views of the jobs for operators."""

from alembic import op

from classifeed_common.db import ddl
from classifeed_jobs import ddl as jobs_ddl

revision = "20261123_2"
down_revision = "20261123_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(ddl("leases", 1))
    op.execute(ddl("blob_refs", 1))
    op.execute(jobs_ddl(1))
    op.execute(
        """
        CREATE VIEW task_queue AS
        SELECT args ->> 'seller_id' AS seller_id, args ->> 'namespace' AS namespace,
               (args ->> 'fetch_id')::bigint AS task_id, created_at
        FROM dl_jobs WHERE queue = 'feed.fetch'
        """
    )
    op.execute(
        """
        CREATE VIEW feed_locks AS
        SELECT split_part(lock_key, ':', 1) AS context, split_part(lock_key, ':', 2) AS seller_id,
               split_part(lock_key, ':', 3) AS namespace, acquired_at AS acquired
        FROM dl_job_locks WHERE lock_key LIKE 'feedloader:%'
        """
    )
