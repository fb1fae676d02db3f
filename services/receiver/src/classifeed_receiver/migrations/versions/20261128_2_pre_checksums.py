"""Rows have a checksum, and a status for damaged rows; the previous version writes neither."""

from alembic import op

revision = "20261128_2"
down_revision = "20261128_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE documents
            ADD COLUMN checksum bigint,
            DROP CONSTRAINT documents_status_check,
            ADD CONSTRAINT documents_status_check CHECK (status BETWEEN 1 AND 3) NOT VALID
        """
    )
