"""The gRPC services of the searcher."""
