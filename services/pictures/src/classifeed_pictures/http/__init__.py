"""Entry points of HTTP: translate and call, nothing else."""
