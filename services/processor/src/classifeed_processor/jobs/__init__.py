"""Entry points of the job engine: handlers that translate and call."""
