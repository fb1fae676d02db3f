"""Administration of jobs and queues by operators and public APIs, with an audit entry for each change."""
