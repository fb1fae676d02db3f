"""Putting jobs into queues and looking them up, in the caller's own transaction."""
