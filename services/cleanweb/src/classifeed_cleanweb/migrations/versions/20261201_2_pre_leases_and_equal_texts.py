"""Indexes of the leases of a reviewer, and of open requests for equal texts."""

from alembic import op

revision = "20261201_2"
down_revision = "20261201_1"
PHASE = "pre"


def upgrade() -> None:
    # Reviewers and requests write to the tables all the time.
    with op.get_context().autocommit_block():
        # A failed attempt may have left an invalid index behind.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS reviews_leased")
        op.execute(
            "CREATE INDEX CONCURRENTLY reviews_leased ON reviews (leased_by, project)"
            " WHERE ended_at IS NULL AND leased_by IS NOT NULL"
        )
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS requests_same")
        op.execute("CREATE INDEX CONCURRENTLY requests_same ON requests (cache_key) WHERE ended_at IS NULL")
