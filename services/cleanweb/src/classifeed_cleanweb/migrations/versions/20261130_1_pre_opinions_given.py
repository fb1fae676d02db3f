"""An index of opinions by time, for counts by day."""

from alembic import op

revision = "20261130_1"
down_revision = "20261129_1"
PHASE = "pre"


def upgrade() -> None:
    # Reviewers write to the table all the time.
    with op.get_context().autocommit_block():
        # A failed attempt may have left an invalid index behind.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS opinions_given")
        op.execute("CREATE INDEX CONCURRENTLY opinions_given ON opinions (given_at)")
