"""The entry points of the job engine: handlers that translate and call."""
