"""An index of open appeals by author, for the limit per author."""

from alembic import op

revision = "20261201_1"
down_revision = "20261130_1"
PHASE = "pre"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        # A failed attempt may have left an invalid index behind.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS appeals_of_author")
        op.execute("CREATE INDEX CONCURRENTLY appeals_of_author ON appeals (author_id) WHERE ended_at IS NULL")
