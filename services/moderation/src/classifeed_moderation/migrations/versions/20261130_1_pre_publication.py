"""Positions of points that the receiver has acknowledged."""

from alembic import op

revision = "20261130_1"
down_revision = "20261129_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE published_positions (
            shard smallint PRIMARY KEY,
            idx bigint NOT NULL
        ) WITH (fillfactor = 25)
        """
    )
