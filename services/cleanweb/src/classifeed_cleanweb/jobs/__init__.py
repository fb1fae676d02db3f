"""Entry points of jobs: callbacks."""
