"""Texts and decisions about them, points and comments, kept verdicts."""

from alembic import op

revision = "20261129_1"
down_revision = None
PHASE = "pre"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE subjects (
            subject_key text NOT NULL,
            kind text NOT NULL CHECK (kind IN ('POINT', 'COMMENT', 'OFFER')),
            text text NOT NULL,
            title_chars integer NOT NULL DEFAULT 0,
            text_hash bytea NOT NULL CHECK (octet_length(text_hash) = 16),
            cache_key bytea NOT NULL CHECK (octet_length(cache_key) = 16),
            content_version bigint NOT NULL DEFAULT 1,
            region_ids integer[] NOT NULL,
            seller_id text,
            namespace text,
            external_id text,
            status text NOT NULL CHECK (status IN ('PENDING', 'APPROVED', 'DISAPPROVED')),
            started timestamptz NOT NULL DEFAULT clock_timestamp(),
            next_retry timestamptz,
            is_recheck boolean NOT NULL DEFAULT false,
            verdicts jsonb NOT NULL DEFAULT '[]',
            decision_id bigint,
            decided_by text CHECK (decided_by IN ('RULE', 'EXEMPTION', 'REVIEWER')),
            PRIMARY KEY (subject_key),
            CHECK ((status = 'PENDING') = (next_retry IS NOT NULL)),
            CHECK ((kind = 'OFFER') = (seller_id IS NOT NULL))
        ) WITH (fillfactor = 80)
        """
    )
    op.execute("CREATE INDEX subjects_due ON subjects (kind, next_retry) WHERE status = 'PENDING'")
    op.execute(
        """
        CREATE INDEX subjects_shares ON subjects (seller_id, next_retry) WHERE status = 'PENDING' AND kind = 'OFFER'
        """
    )
    op.execute("CREATE INDEX subjects_same ON subjects (cache_key) WHERE status = 'PENDING'")
    op.execute(
        """
        CREATE TABLE decisions (
            decision_id bigint GENERATED ALWAYS AS IDENTITY,
            subject_key text NOT NULL,
            kind text NOT NULL,
            content_version bigint NOT NULL,
            text_hash bytea NOT NULL,
            region_ids integer[] NOT NULL,
            status text NOT NULL,
            verdicts jsonb NOT NULL,
            rule text NOT NULL,
            rule_set text NOT NULL,
            region_id integer NOT NULL,
            maker text NOT NULL,
            reviewer text NOT NULL DEFAULT '',
            is_automatic boolean NOT NULL,
            is_applied boolean NOT NULL,
            not_applied_reason text NOT NULL DEFAULT '',
            supersedes_id bigint,
            tags_before text[],
            tags_after text[],
            request_id text NOT NULL DEFAULT '',
            waited_s double precision,
            decided_at timestamptz NOT NULL,
            recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (decision_id)
        )
        """
    )
    op.execute("CREATE INDEX decisions_subject ON decisions (subject_key, decision_id)")
    op.execute("CREATE INDEX decisions_age ON decisions (recorded_at)")
    op.execute(
        """
        CREATE TABLE verdict_cache (
            cache_key bytea NOT NULL,
            verdicts jsonb NOT NULL,
            is_from_people boolean NOT NULL DEFAULT false,
            stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (cache_key)
        )
        """
    )
    op.execute("CREATE INDEX verdict_cache_age ON verdict_cache (stored_at)")
    op.execute(
        """
        CREATE TABLE points (
            point_id uuid NOT NULL,
            author_id text NOT NULL,
            author_role text NOT NULL CHECK (author_role IN ('USER', 'PARTNER', 'MODERATOR', 'EXPERT')),
            tags text[] NOT NULL,
            latitude double precision NOT NULL,
            longitude double precision NOT NULL,
            votes_for integer NOT NULL DEFAULT 0,
            votes_against integer NOT NULL DEFAULT 0,
            comments integer NOT NULL DEFAULT 0,
            version bigint NOT NULL,
            published_version bigint NOT NULL DEFAULT 0,
            request_id text,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            removed_at timestamptz,
            PRIMARY KEY (point_id)
        )
        """
    )
    op.execute("CREATE INDEX points_due ON points (version) WHERE version > published_version")
    op.execute("CREATE INDEX points_place ON points (latitude, longitude) WHERE removed_at IS NULL")
    op.execute("CREATE INDEX points_removed ON points (removed_at) WHERE removed_at IS NOT NULL")
    op.execute(
        """
        CREATE TABLE comments (
            point_id uuid NOT NULL REFERENCES points ON DELETE CASCADE,
            idx integer NOT NULL,
            author_id text NOT NULL,
            author_role text NOT NULL,
            request_id text,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (point_id, idx)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE votes (
            point_id uuid NOT NULL REFERENCES points ON DELETE CASCADE,
            author_id text NOT NULL,
            is_for boolean NOT NULL,
            voted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (point_id, author_id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE appeals (
            appeal_id bigint GENERATED ALWAYS AS IDENTITY,
            subject_key text NOT NULL,
            decision_id bigint NOT NULL,
            author_id text NOT NULL,
            reason text NOT NULL,
            appealed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz,
            reviewer text,
            PRIMARY KEY (appeal_id),
            UNIQUE (decision_id)
        )
        """
    )
    op.execute("CREATE INDEX appeals_open ON appeals (appeal_id) WHERE ended_at IS NULL")
    op.execute(
        """
        CREATE TABLE rejudgements (
            request_id text NOT NULL,
            kind text,
            is_dry_run boolean NOT NULL,
            judged bigint NOT NULL DEFAULT 0,
            changes jsonb NOT NULL DEFAULT '[]',
            requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz,
            PRIMARY KEY (request_id)
        )
        """
    )
