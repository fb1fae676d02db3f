"""The rules of canonical URLs that come with the service, and the schema of every such file."""
