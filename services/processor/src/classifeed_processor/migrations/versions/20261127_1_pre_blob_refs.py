"""Tasks have their own references to their files."""

from alembic import op

from classifeed_common.db import ddl

revision = "20261127_1"
down_revision = "20261124_1"
PHASE = "pre"


def upgrade() -> None:
    op.execute(ddl("blob_refs", 1))
    # Files of existing tasks have no owner and are never deleted; a rerun of such a task makes a copy of the file.
    op.execute(
        """
        INSERT INTO blobs (sha256, ref_count, touched_at)
        SELECT source_sha256, count(*), clock_timestamp()
          FROM tasks WHERE source_sha256 ~ '^[0-9a-f]{64}$' GROUP BY source_sha256
        """
    )
    op.execute(
        """
        INSERT INTO blob_refs (ref, sha256)
        SELECT 'task:' || seller_id || '/' || namespace || '/' || task_id, source_sha256
          FROM tasks WHERE source_sha256 ~ '^[0-9a-f]{64}$'
        """
    )
