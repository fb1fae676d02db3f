"""The worker process: it claims, runs and completes jobs, and renews its lease."""
