"""All tables and SQL of the service. Each function runs in the caller's transaction."""
