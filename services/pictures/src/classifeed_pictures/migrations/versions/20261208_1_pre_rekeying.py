"""Rules of canonical URLs that have been in force, and aliases of moved pictures."""

from alembic import op

revision = "20261208_1"
down_revision = "20261206_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE canonical_rules (
            rules_id bigint GENERATED ALWAYS AS IDENTITY,
            version text NOT NULL,
            document jsonb NOT NULL,
            found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            rekeyed_at timestamptz,
            PRIMARY KEY (rules_id)
        )
        """
    )
    op.execute("ALTER TABLE stored_pictures ADD COLUMN is_alias boolean NOT NULL DEFAULT false")
