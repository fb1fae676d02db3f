"""The entry points of gRPC: translate and call."""
