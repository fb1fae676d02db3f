"""Entry points of gRPC: translate and call, nothing else."""
