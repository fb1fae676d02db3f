"""gRPC entry points: they translate messages and call the app."""
