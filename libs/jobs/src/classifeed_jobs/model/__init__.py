"""What a job, a task and their outcomes are, without any statement about them."""
