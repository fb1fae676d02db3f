"""gRPC servers and clients: authentication, validation, metrics, tracing, deadlines and errors of every call."""
