"""The gRPC door: translates and calls, nothing else."""
