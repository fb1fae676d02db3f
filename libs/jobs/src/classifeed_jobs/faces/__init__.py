"""The faces of the engine: what callers outside of the process see of a service's jobs, over HTTP and over gRPC.

Both translate and call `JobAdmin`; rules of requests are written once, in `asked`. Nothing of the engine imports them.
"""
