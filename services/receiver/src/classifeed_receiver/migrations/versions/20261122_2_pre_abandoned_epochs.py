"""Retire epochs that are open in addition to the active one: they could never be activated (state RETIRED)."""

from alembic import op

revision = "20261122_2"
down_revision = "20261121_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("UPDATE schemas SET state = 3 WHERE state = 1")
