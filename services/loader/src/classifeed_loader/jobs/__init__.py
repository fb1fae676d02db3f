"""Entry points of the job engine: translate and call, nothing else."""
