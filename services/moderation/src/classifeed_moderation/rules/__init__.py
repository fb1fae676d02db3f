"""The rules that come with the service, and the schema of every rules file."""
