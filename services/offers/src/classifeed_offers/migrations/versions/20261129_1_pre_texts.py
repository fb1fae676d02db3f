"""Moderation columns of an offer: its approved text, the reason of a refusal, and since when it awaits a verdict."""

from alembic import op

revision = "20261129_1"
down_revision = "20261128_5"
PHASE = "pre"

_TEXT = """
    ADD COLUMN text_hash bytea CHECK (octet_length(text_hash) = 16),
    ADD COLUMN approved_text_hash bytea CHECK (octet_length(approved_text_hash) = 16),
    ADD COLUMN ban bytea
"""


def upgrade() -> None:
    op.execute(
        f"ALTER TABLE offers {_TEXT}, ADD COLUMN text_requested_at timestamptz, ADD COLUMN text_decided_at timestamptz"
    )
    op.execute(f"ALTER TABLE waiting_changes {_TEXT}, ADD COLUMN published_content bytea")
    op.execute("CREATE INDEX offers_texts_waiting ON offers (text_requested_at) WHERE text_requested_at IS NOT NULL")
