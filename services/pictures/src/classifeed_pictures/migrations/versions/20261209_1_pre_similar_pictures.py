"""Keys for finding similar pictures, in four pieces, of which copies have one nearly in common.

Older rows, and rows that the previous release still writes, get their keys from the job
`pictures.fill-similarity-keys`.
"""

from alembic import op

revision = "20261209_1"
down_revision = "20261208_1"
PHASE = "pre"
_SHIFTS = (48, 32, 16, 0)


def upgrade() -> None:
    op.execute("ALTER TABLE stored_pictures ADD COLUMN IF NOT EXISTS similarity_key bigint")
    with op.get_context().autocommit_block():
        # An attempt that died may have left an index that is not usable.
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS stored_pictures_without_key")
        op.execute(
            "CREATE INDEX CONCURRENTLY stored_pictures_without_key ON stored_pictures (namespace, group_id, name) "
            "WHERE similarity_key IS NULL"
        )
        for number, shift in enumerate(_SHIFTS, 1):
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS stored_pictures_piece_{number}")
            op.execute(
                f"CREATE INDEX CONCURRENTLY stored_pictures_piece_{number} ON stored_pictures "
                f"((((similarity_key >> {shift}) & 65535)::integer), similarity_key) "
                "WHERE bit_count(similarity_key::bit(64)) >= 8"
            )
