"""The gRPC services of offers."""
