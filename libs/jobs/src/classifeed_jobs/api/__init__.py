"""The HTTP and gRPC APIs of the jobs, which share the validation of requests."""
