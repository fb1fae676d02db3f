"""The gRPC services of the receiver: each method only translates and calls a use case."""
