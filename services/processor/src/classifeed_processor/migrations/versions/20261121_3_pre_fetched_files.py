"""Tasks of fetched files and of removed feeds, in addition to those of uploads."""

from alembic import op

revision = "20261121_3"
down_revision = "20261121_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE tasks
            ALTER COLUMN upload_id DROP NOT NULL,
            ADD COLUMN feed_version bigint NOT NULL DEFAULT 0,
            ADD COLUMN feed_loader_task_id bigint,
            ADD COLUMN feed_loader_result_id bigint,
            ADD COLUMN format_wanted text NOT NULL DEFAULT '',
            ADD COLUMN parser_version integer NOT NULL DEFAULT 0
        """
    )
    op.execute(
        "CREATE UNIQUE INDEX tasks_fetch ON tasks (feed_loader_task_id, feed_loader_result_id)"
        " WHERE feed_loader_result_id IS NOT NULL"
    )
    op.execute(
        "CREATE INDEX tasks_fetch_order ON tasks (seller_id, namespace, feed_version, feed_loader_result_id)"
        " WHERE feed_loader_result_id IS NOT NULL"
    )
    op.execute("CREATE UNIQUE INDEX tasks_removal ON tasks (seller_id, namespace, feed_version) WHERE kind = 2")
