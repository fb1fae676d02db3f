"""What code costs: memory of processes, and how long requests hold an event loop."""
