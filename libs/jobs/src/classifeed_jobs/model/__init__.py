"""Types of jobs, tasks and outcomes, without SQL."""
