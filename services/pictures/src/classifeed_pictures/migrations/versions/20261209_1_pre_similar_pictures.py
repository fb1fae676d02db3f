"""Keys by which pictures that look alike are found, in four pieces: copies have one of them in common, nearly.

Rows from before, and those that processes of the version before still write, get theirs by the job
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
        # What an attempt that died may have left behind is no usable index.
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
