"""Entry points of the job engine: handlers that call use cases."""
