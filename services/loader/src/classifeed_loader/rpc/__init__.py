"""The doors of gRPC: translate and call."""
