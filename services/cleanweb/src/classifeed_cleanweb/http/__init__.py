"""Entry points of HTTP: requests for verdicts."""
