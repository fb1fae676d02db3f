"""Drop the index of due uploads by time: uploads are read by the queue of their namespace."""

from alembic import op

revision = "20261121_3"
down_revision = "20261121_2"
PHASE = "post"


def upgrade() -> None:
    op.execute("DROP INDEX uploads_due")
