"""Runs of a task: the file read and sent in batches, and the results that come back."""
