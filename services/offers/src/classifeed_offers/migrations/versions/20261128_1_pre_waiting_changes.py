"""Changes that wait for the end of their load, so that a wrong price is not shown before a decision."""

from alembic import op

revision = "20261128_1"
down_revision = "20261127_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE waiting_changes (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            offer_id bigint NOT NULL,
            task_id bigint NOT NULL,
            run integer NOT NULL,
            before_hash bytea NOT NULL,
            content bytea NOT NULL,
            content_hash bytea NOT NULL,
            status text NOT NULL,
            last_change text NOT NULL,
            moderation text NOT NULL,
            price_ratio double precision,
            turns_unavailable boolean NOT NULL,
            PRIMARY KEY (seller_id, namespace, offer_id)
        )
        """
    )
    op.execute(
        """
        ALTER TABLE applied_batches
            ADD COLUMN steady_prices integer NOT NULL DEFAULT 0,
            ADD COLUMN has_available boolean NOT NULL DEFAULT false
        """
    )
    op.execute(
        """
        ALTER TABLE task_ends
            ADD COLUMN changed bigint NOT NULL DEFAULT 0,
            ADD COLUMN dropped bigint NOT NULL DEFAULT 0,
            DROP CONSTRAINT task_ends_decision_check,
            ADD CONSTRAINT task_ends_decision_check
                CHECK (decision IN ('CONFIRM', 'REJECT', 'ALLOW_REMOVALS', 'ALLOW_CHANGES'))
        """
    )
