"""Namespaces filled by uploads only can be listed, and removed without informing the loader."""

from alembic import op

revision = "20261127_2"
down_revision = "20261127_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE feed ADD COLUMN has_link boolean NOT NULL DEFAULT true")
    op.execute("CREATE INDEX uploads_by_namespace ON uploads (seller_id, namespace, version) WHERE stored")
