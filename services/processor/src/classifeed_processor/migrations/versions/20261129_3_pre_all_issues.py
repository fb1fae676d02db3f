"""All issues of a load are kept: rows have the parameters of their texts, further issues are chunks and files."""

from alembic import op

revision = "20261129_3"
down_revision = "20261129_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE offer_errors ADD COLUMN IF NOT EXISTS parameters bytea NOT NULL DEFAULT ''")
    op.execute(
        """
        CREATE TABLE IF NOT EXISTS issue_chunks (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            chunk_id bigint GENERATED ALWAYS AS IDENTITY,
            run integer NOT NULL,
            summary bytea NOT NULL,
            issues bytea NOT NULL,
            PRIMARY KEY (seller_id, namespace, task_id, chunk_id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE IF NOT EXISTS load_files (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            kind smallint NOT NULL,
            object text NOT NULL,
            count bigint NOT NULL,
            index bytea NOT NULL,
            PRIMARY KEY (seller_id, namespace, task_id, kind)
        )
        """
    )
    # A killed migration may have left an invalid index.
    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS offer_errors_by_ordinal")
        op.execute(
            "CREATE INDEX CONCURRENTLY offer_errors_by_ordinal"
            " ON offer_errors (seller_id, namespace, task_id, level, ordinal, line, error_id)"
        )
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS offer_errors_by_line")
