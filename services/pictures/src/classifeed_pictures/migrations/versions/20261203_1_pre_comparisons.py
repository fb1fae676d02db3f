"""Comparisons of stored pictures with the URLs that offers use."""

from alembic import op

revision = "20261203_1"
down_revision = "20261202_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE comparisons (
            comparison_id bigint GENERATED ALWAYS AS IDENTITY,
            state text NOT NULL DEFAULT 'RUNNING' CHECK (state IN ('RUNNING', 'HELD', 'DONE', 'SUPERSEDED')),
            snapshot_at timestamptz,
            compared bigint NOT NULL DEFAULT 0,
            unused bigint NOT NULL DEFAULT 0,
            is_confirmed boolean NOT NULL DEFAULT false,
            began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (comparison_id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE used_urls (
            comparison_id bigint NOT NULL REFERENCES comparisons ON DELETE CASCADE,
            url_hash bytea NOT NULL,
            PRIMARY KEY (comparison_id, url_hash)
        )
        """
    )
