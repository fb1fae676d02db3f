"""Entry points of jobs: translate and call, nothing else."""
