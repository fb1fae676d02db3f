-- References to stored files. A put and the clean-up both lock the row in blobs.
CREATE TABLE blobs (
    sha256 text PRIMARY KEY CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    ref_count bigint NOT NULL DEFAULT 0 CHECK (ref_count >= 0),
    touched_at timestamptz NOT NULL
);
CREATE INDEX blobs_unreferenced ON blobs (touched_at) WHERE ref_count = 0;
CREATE TABLE blob_refs (
    ref text NOT NULL,
    sha256 text NOT NULL REFERENCES blobs (sha256),
    PRIMARY KEY (ref, sha256)
);
CREATE INDEX blob_refs_sha256 ON blob_refs (sha256);
