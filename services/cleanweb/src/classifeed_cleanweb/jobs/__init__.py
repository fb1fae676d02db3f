"""Background jobs of the job engine: callbacks."""
