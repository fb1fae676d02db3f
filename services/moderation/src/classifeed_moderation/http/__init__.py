"""Entry points of HTTP: callbacks of the verdict service."""
