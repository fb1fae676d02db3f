"""Background work: expiry of documents, trimming of queues, reports of abandoned epochs and damaged rows."""
