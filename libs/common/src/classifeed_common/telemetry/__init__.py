"""What a process tells of itself: logs, metrics and traces."""
