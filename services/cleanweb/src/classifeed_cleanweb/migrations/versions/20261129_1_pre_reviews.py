"""Requests for reviews by people, their opinions, kept verdicts, and callbacks."""

from alembic import op

from classifeed_common.db import ddl
from classifeed_jobs import ddl as jobs_ddl

revision = "20261129_1"
down_revision = None
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE requests (
            request_id bigint GENERATED ALWAYS AS IDENTITY,
            service text NOT NULL,
            environment text NOT NULL,
            key text NOT NULL,
            text text NOT NULL,
            text_hash bytea NOT NULL,
            cache_key bytea NOT NULL,
            opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz,
            PRIMARY KEY (request_id)
        )
        """
    )
    op.execute(
        "CREATE UNIQUE INDEX requests_open ON requests (service, environment, key, text_hash) WHERE ended_at IS NULL"
    )
    op.execute("CREATE INDEX requests_ended ON requests (ended_at) WHERE ended_at IS NOT NULL")
    op.execute(
        """
        CREATE TABLE reviews (
            review_id bigint GENERATED ALWAYS AS IDENTITY,
            request_id bigint NOT NULL REFERENCES requests ON DELETE CASCADE,
            project text NOT NULL,
            verdicts text[],
            leased_by text,
            leased_until timestamptz,
            opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz,
            PRIMARY KEY (review_id),
            UNIQUE (request_id, project)
        )
        """
    )
    op.execute("CREATE INDEX reviews_waiting ON reviews (project, review_id) WHERE ended_at IS NULL")
    op.execute(
        """
        CREATE TABLE opinions (
            review_id bigint NOT NULL REFERENCES reviews ON DELETE CASCADE,
            reviewer text NOT NULL,
            verdicts text[] NOT NULL,
            given_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (review_id, reviewer)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE kept_verdicts (
            cache_key bytea NOT NULL,
            verdicts text[] NOT NULL,
            stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (cache_key)
        )
        """
    )
    op.execute("CREATE INDEX kept_verdicts_age ON kept_verdicts (stored_at)")
    op.execute(
        """
        CREATE TABLE callbacks (
            callback_id bigint GENERATED ALWAYS AS IDENTITY,
            service text NOT NULL,
            environment text NOT NULL,
            key text NOT NULL,
            verdicts text[] NOT NULL,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            sent_from timestamptz NOT NULL DEFAULT clock_timestamp(),
            given_up_at timestamptz,
            fault text NOT NULL DEFAULT '',
            PRIMARY KEY (callback_id)
        )
        """
    )
    op.execute("CREATE INDEX callbacks_key ON callbacks (key, callback_id)")
    op.execute("CREATE INDEX callbacks_given_up ON callbacks (callback_id) WHERE given_up_at IS NOT NULL")
    op.execute(ddl("leases", 1))
    for number in range(1, 5):
        op.execute(jobs_ddl(number))
