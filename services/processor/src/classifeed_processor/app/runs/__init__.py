"""Runs of a task: the file is read and sent in batches, and the results are stored."""
