"""Entry points of gRPC: translate requests and call use cases."""
