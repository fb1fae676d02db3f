"""An index of opinions by time: they are counted by day."""

from alembic import op

revision = "20261130_1"
down_revision = "20261129_1"
PHASE = "pre"


def upgrade() -> None:
    # Reviewers write to the table all the time.
    with op.get_context().autocommit_block():
        # What an attempt that died may have left behind is no usable index.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS opinions_given")
        op.execute("CREATE INDEX CONCURRENTLY opinions_given ON opinions (given_at)")
