"""Marks of tables: a few rows of each have a growing number, which shows a restore of that table only."""

from alembic import op

revision = "20261215_1"
down_revision = "20261214_2"
PHASE = "pre"
_TABLES = (
    "pictures",
    "requests_in_flight",
    "settled_requests",
    "stored_pictures",
    "blobs",
    "blob_refs",
    "namespace_usage",
    "event_files",
)


def upgrade() -> None:
    for table in _TABLES:
        op.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS mark jsonb")
    op.execute(
        """
        CREATE TABLE IF NOT EXISTS table_marks (
            name text PRIMARY KEY,
            number bigint NOT NULL DEFAULT 0,
            has_rows boolean NOT NULL DEFAULT false,
            noticed_at timestamptz,
            restored_to timestamptz,
            targets jsonb,
            checked_through bytea,
            lost_puts bigint NOT NULL DEFAULT 0
        )
        """
    )
    with op.get_context().autocommit_block():
        for table in _TABLES:
            # An attempt that died may have left an index that is not usable.
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {table}_marked")
            op.execute(
                f"CREATE INDEX CONCURRENTLY {table}_marked ON {table} (((mark->>'number')::bigint))"
                " WHERE mark IS NOT NULL"
            )
