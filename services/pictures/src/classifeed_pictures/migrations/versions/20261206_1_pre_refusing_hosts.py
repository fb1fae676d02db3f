"""Hosts: the time since when each has refused all requests."""

from alembic import op

from classifeed_common.db import ddl

revision = "20261206_1"
down_revision = "20261203_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(ddl("fetch_hosts", 2))
