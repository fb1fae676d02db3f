"""All tables and SQL of the api."""
