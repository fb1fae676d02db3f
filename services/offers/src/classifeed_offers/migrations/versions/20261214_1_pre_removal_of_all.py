"""The disposition DELETE_ALL: the removal of a feed also removes the offers that are kept by hand."""

from alembic import op

revision = "20261214_1"
down_revision = "20261213_2"
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE task_ends
            DROP CONSTRAINT task_ends_disposition_check,
            ADD CONSTRAINT task_ends_disposition_check
                CHECK (disposition IN ('DELETE', 'MAKE_MANUAL', 'DELETE_ALL'))
        """
    )
