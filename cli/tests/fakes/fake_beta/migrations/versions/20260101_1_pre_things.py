from alembic import op

revision = "0001"
down_revision = None
phase = "pre"


def upgrade() -> None:
    op.execute("CREATE TABLE things (n int PRIMARY KEY)")
