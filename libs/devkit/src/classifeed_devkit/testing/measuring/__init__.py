"""Measurements of cost: memory of processes, and how long requests block an event loop."""
