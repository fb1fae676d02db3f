"""Numbers of decisions come from the clock, so that a restored database repeats none (ADR 0090)."""

from alembic import op

revision = "20261201_4"
down_revision = "20261201_3"
PHASE = "pre"


def upgrade() -> None:
    op.execute("CREATE SEQUENCE decision_numbers MINVALUE 0 MAXVALUE 1023 CYCLE")
    op.execute("ALTER TABLE decisions ALTER COLUMN decision_id DROP IDENTITY")
    op.execute(
        """
        ALTER TABLE decisions ALTER COLUMN decision_id
        SET DEFAULT ((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 10) + nextval('decision_numbers')
        """
    )
