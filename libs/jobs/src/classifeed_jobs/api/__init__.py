"""The HTTP and gRPC API of the jobs: requests checked alike for both."""
