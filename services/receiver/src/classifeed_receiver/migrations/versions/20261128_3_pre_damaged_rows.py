"""An index finds the damaged rows of the registry."""

from alembic import op

revision = "20261128_3"
down_revision = "20261128_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE documents VALIDATE CONSTRAINT documents_status_check")
    # The table is the largest one and is written all the time.
    with op.get_context().autocommit_block():
        # An interrupted attempt may have left an invalid index.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS documents_damaged")
        op.execute("CREATE INDEX CONCURRENTLY documents_damaged ON documents (client, hash, pk) WHERE status = 3")
