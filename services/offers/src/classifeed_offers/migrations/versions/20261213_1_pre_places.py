"""Place of an offer in the file of its last load, so that later problems have a line."""

from alembic import op

revision = "20261213_1"
down_revision = "20261202_1"
PHASE = "pre"

_PLACE = "ADD COLUMN {prefix}ordinal bigint NOT NULL DEFAULT 0, ADD COLUMN {prefix}line bigint NOT NULL DEFAULT 0"


def upgrade() -> None:
    op.execute(f"ALTER TABLE offers {_PLACE.format(prefix='last_')}")
    op.execute(f"ALTER TABLE waiting_changes {_PLACE.format(prefix='')}")
