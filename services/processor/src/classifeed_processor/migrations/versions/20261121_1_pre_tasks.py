"""Tasks, their batches, statistics and errors."""

from alembic import op

revision = "20261121_1"
down_revision = None
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE task_counters (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            last_task_id bigint NOT NULL,
            PRIMARY KEY (seller_id, namespace)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE tasks (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            kind smallint NOT NULL,
            status smallint NOT NULL,
            phase smallint NOT NULL,
            run integer NOT NULL DEFAULT 0,
            incomplete_runs integer NOT NULL DEFAULT 0,
            mode smallint NOT NULL,
            disposition smallint NOT NULL,
            upload_id text NOT NULL,
            source_sha256 text NOT NULL,
            source_bytes bigint NOT NULL,
            file_name text NOT NULL,
            format text NOT NULL DEFAULT '',
            expected_total bigint NOT NULL DEFAULT 0,
            warnings text[] NOT NULL DEFAULT '{}'::text[],
            error_code text NOT NULL DEFAULT '',
            error_message text NOT NULL DEFAULT '',
            error_line bigint NOT NULL DEFAULT 0,
            error_column bigint NOT NULL DEFAULT 0,
            batch_count bigint,
            digest bytea,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz,
            PRIMARY KEY (seller_id, namespace, task_id)
        )
        """
    )
    op.execute("CREATE UNIQUE INDEX tasks_upload_id ON tasks (upload_id)")
    op.execute("CREATE INDEX tasks_updated ON tasks (seller_id, namespace, updated_at)")
    op.execute("CREATE INDEX tasks_open ON tasks (seller_id, namespace, task_id) WHERE ended_at IS NULL")
    op.execute(
        """
        CREATE TABLE offer_batches (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            run integer NOT NULL,
            batch_id bigint NOT NULL,
            records integer NOT NULL,
            sent_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            answered_at timestamptz,
            PRIMARY KEY (seller_id, namespace, task_id, run, batch_id)
        )
        """
    )
    op.execute(
        "CREATE INDEX offer_batches_unanswered ON offer_batches (seller_id, namespace, task_id, run)"
        " WHERE answered_at IS NULL"
    )
    op.execute(
        """
        CREATE TABLE feed_statistics (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            run integer NOT NULL,
            statistics bytea NOT NULL,
            first_answer_at timestamptz,
            last_answer_at timestamptz,
            PRIMARY KEY (seller_id, namespace, task_id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE offer_errors (
            seller_id text NOT NULL,
            namespace text NOT NULL,
            task_id bigint NOT NULL,
            external_id text NOT NULL,
            error_id text NOT NULL,
            run integer NOT NULL,
            ordinal bigint NOT NULL,
            level smallint NOT NULL,
            kind smallint NOT NULL,
            code text NOT NULL,
            field text NOT NULL,
            line bigint NOT NULL,
            "column" bigint NOT NULL,
            path text NOT NULL,
            excerpt text NOT NULL,
            value text NOT NULL,
            expected text NOT NULL,
            title text NOT NULL,
            message text NOT NULL,
            suggestion text NOT NULL,
            PRIMARY KEY (seller_id, namespace, task_id, external_id, error_id)
        )
        """
    )
    op.execute(
        "CREATE INDEX offer_errors_by_level"
        " ON offer_errors (seller_id, namespace, task_id, level, external_id, error_id)"
    )
