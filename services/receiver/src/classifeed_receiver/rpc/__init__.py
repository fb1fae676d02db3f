"""What the receiver answers over gRPC: each method translates and calls a use case, nothing else."""
