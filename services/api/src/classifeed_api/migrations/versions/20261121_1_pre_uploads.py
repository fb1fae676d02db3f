"""Uploads, references to their files, leases of the roles."""

from alembic import op

from classifeed_common.db import ddl

revision = "20261121_1"
down_revision = None
phase = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE uploads (
            upload_id uuid PRIMARY KEY,
            seller_id text NOT NULL,
            namespace text NOT NULL,
            request_id text,
            mode smallint NOT NULL,
            disposition smallint NOT NULL,
            file_name text NOT NULL,
            sha256 text NOT NULL,
            size_bytes bigint NOT NULL,
            task_id bigint,
            stored boolean NOT NULL,
            version bigint NOT NULL,
            published_version bigint NOT NULL,
            created_at timestamptz NOT NULL
        )
        """
    )
    op.execute("CREATE UNIQUE INDEX uploads_request_id ON uploads (seller_id, request_id) WHERE request_id IS NOT NULL")
    op.execute("CREATE INDEX uploads_due ON uploads (created_at) WHERE version > published_version")
    op.execute(ddl("blob_refs", 1))
    op.execute(ddl("leases", 1))
