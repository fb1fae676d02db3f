"""Newest applied decisions of moderation, to detect that a restore of moderation has lost them (ADR 0102)."""

from alembic import op

revision = "20261214_2"
down_revision = "20261214_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE applied_decisions (
            partition integer PRIMARY KEY,
            decision_id bigint NOT NULL,
            seller_id text NOT NULL,
            namespace text NOT NULL,
            checked_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
