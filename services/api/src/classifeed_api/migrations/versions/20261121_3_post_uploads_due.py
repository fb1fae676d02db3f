"""Uploads wait in the line of their namespace; nothing reads them by the time they came any more."""

from alembic import op

revision = "20261121_3"
down_revision = "20261121_2"
PHASE = "post"


def upgrade() -> None:
    op.execute("DROP INDEX uploads_due")
