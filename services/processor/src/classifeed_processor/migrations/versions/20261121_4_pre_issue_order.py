"""Issues in the order of the file instead of the order of ids; the previous version sorts until it is gone."""

from alembic import op

revision = "20261121_4"
down_revision = "20261121_3"
PHASE = "pre"


def upgrade() -> None:
    # The table is the largest one and is written to all the time.
    with op.get_context().autocommit_block():
        # What an attempt that died may have left behind is no usable index.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS offer_errors_by_line")
        op.execute(
            "CREATE INDEX CONCURRENTLY offer_errors_by_line"
            " ON offer_errors (seller_id, namespace, task_id, level, line, error_id)"
        )
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS offer_errors_by_level")
