"""Loads of offers: apply batches, complete runs, hold loads and decide held ones."""
