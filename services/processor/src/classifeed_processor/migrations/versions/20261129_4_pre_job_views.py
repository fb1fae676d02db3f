"""Views over the job tables: waiting and running tasks, and locked namespaces with their times."""

from alembic import op

revision = "20261129_4"
down_revision = "20261129_3"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE VIEW task_queue AS
        SELECT args ->> 'seller_id' AS seller_id, args ->> 'namespace' AS namespace,
               (args ->> 'task_id')::bigint AS task_id, created_at
        FROM dl_jobs WHERE queue = 'feed.process'
        """
    )
    op.execute(
        """
        CREATE VIEW feed_locks AS
        SELECT split_part(lock_key, ':', 1) AS context, split_part(lock_key, ':', 2) AS seller_id,
               split_part(lock_key, ':', 3) AS namespace, acquired_at AS acquired
        FROM dl_job_locks WHERE lock_key LIKE 'feedprocessor:%'
        """
    )
