"""Tables of the shared mechanisms: positions of the consumer, outbox, leases."""

from alembic import op

from classifeed_common.db import ddl

revision = "20261121_2"
down_revision = "20261121_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(ddl("consumer_offsets", 1))
    op.execute(ddl("outbox", 1))
    op.execute(ddl("leases", 1))


def downgrade() -> None:
    op.execute("DROP TABLE leases, outbox, consumer_offsets")
