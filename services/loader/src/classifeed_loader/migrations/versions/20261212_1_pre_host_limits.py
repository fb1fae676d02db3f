"""Limits per host of links, shared by all processes."""

from alembic import op

from classifeed_common.db import ddl

revision = "20261212_1"
down_revision = "20261127_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute(ddl("fetch_hosts", 1))
    op.execute(ddl("fetch_hosts", 2))
