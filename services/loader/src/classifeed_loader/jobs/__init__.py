"""The doors of the job engine: handlers that translate and call."""
