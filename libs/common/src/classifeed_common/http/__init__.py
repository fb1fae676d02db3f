"""The HTTP server of every service: health, metrics, backlog, and problem documents for errors."""
