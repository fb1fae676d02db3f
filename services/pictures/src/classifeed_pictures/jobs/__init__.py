"""Entry points of jobs."""
