"""Times from which on events may be missing. A database without pictures begins with one."""

from alembic import op

revision = "20261211_1"
down_revision = "20261210_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE event_gaps (
            gap_id bigint PRIMARY KEY,
            cause text NOT NULL,
            closed_at timestamptz
        )
        """
    )
    op.execute(
        """
        INSERT INTO event_gaps (gap_id, cause)
        SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 'a database without pictures'
        WHERE NOT EXISTS (SELECT FROM pictures)
        """
    )
