"""The process that runs jobs: it claims, runs, renews its lease and completes."""
