"""The default rules file, and the schema of every rules file."""
