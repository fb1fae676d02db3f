"""Picture columns of an offer: results, failures, and since when results are awaited."""

from alembic import op

revision = "20261202_1"
down_revision = "20261129_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE offers
            ADD COLUMN pictures bytea,
            ADD COLUMN picture_faults bytea,
            ADD COLUMN pictures_requested_at timestamptz
        """
    )
    op.execute("ALTER TABLE waiting_changes ADD COLUMN changes_pictures boolean NOT NULL DEFAULT false")
    op.execute(
        "CREATE INDEX offers_pictures_waiting ON offers (pictures_requested_at) WHERE pictures_requested_at IS NOT NULL"
    )
