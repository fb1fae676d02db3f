"""What a process reports of itself: logs, metrics and traces."""
