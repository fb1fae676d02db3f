"""The plan of an installation: folders, ports, credentials, services, and their migration step."""
