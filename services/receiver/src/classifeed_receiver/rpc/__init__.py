"""The gRPC services of the receiver: each method translates and calls a use case, nothing else."""
