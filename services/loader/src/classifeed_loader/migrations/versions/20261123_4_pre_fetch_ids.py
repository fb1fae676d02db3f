"""Fetch ids follow the clock: the processor compares them, so a restored database must not reuse one."""

from alembic import op

revision = "20261123_4"
down_revision = "20261123_3"
PHASE = "pre"


def upgrade() -> None:
    op.execute("ALTER TABLE feed_fetches ALTER COLUMN feed_loader_result_id DROP IDENTITY")
    op.execute("CREATE SEQUENCE feed_fetches_in_ms MAXVALUE 1000 CYCLE")
    op.execute("ALTER SEQUENCE feed_fetches_in_ms OWNED BY feed_fetches.feed_loader_result_id")
    op.execute(
        "ALTER TABLE feed_fetches ALTER COLUMN feed_loader_result_id SET DEFAULT "
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000 + nextval('feed_fetches_in_ms') - 1"
    )
