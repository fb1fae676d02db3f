"""Entry points over gRPC: they translate and call."""
