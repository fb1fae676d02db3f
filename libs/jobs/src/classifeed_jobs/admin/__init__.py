"""What operators and public APIs do to jobs and queues, each with an audit entry."""
