"""Plain data and pure functions: error codes, faults, issues, tasks, statistics."""
