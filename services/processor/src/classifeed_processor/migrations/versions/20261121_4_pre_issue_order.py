"""Order issues by the file instead of by ids; the previous version sorts without an index until it is replaced."""

from alembic import op

revision = "20261121_4"
down_revision = "20261121_3"
PHASE = "pre"


def upgrade() -> None:
    # The table is the largest one and is written all the time.
    with op.get_context().autocommit_block():
        # An interrupted attempt may have left an invalid index.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS offer_errors_by_line")
        op.execute(
            "CREATE INDEX CONCURRENTLY offer_errors_by_line"
            " ON offer_errors (seller_id, namespace, task_id, level, line, error_id)"
        )
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS offer_errors_by_level")
