"""Statements of workers and reapers that claim, hold and complete jobs."""
