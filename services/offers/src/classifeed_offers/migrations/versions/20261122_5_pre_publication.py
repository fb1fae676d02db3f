"""Positions that the receiver has acknowledged, documents that it refuses, and republications."""

from alembic import op

revision = "20261122_5"
down_revision = "20261122_4"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE published_positions (
            shard smallint PRIMARY KEY CHECK (shard BETWEEN 0 AND 63),
            idx bigint NOT NULL
        ) WITH (fillfactor = 25)
        """
    )
    op.execute(
        """
        CREATE TABLE refused_documents (
            offer_id bigint PRIMARY KEY REFERENCES offers (offer_id) ON DELETE CASCADE,
            version bigint NOT NULL,
            reasons text NOT NULL,
            refused_at timestamptz NOT NULL
        )
        """
    )
    op.execute(
        """
        CREATE TABLE republications (
            republication_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            reason text NOT NULL,
            seller_id text,
            namespace text,
            request_id text UNIQUE,
            requested_at timestamptz NOT NULL,
            offers bigint NOT NULL DEFAULT 0,
            marked_at timestamptz,
            finished_at timestamptz
        )
        """
    )
    op.execute("CREATE INDEX republications_open ON republications (republication_id) WHERE finished_at IS NULL")
