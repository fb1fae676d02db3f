"""Loads of offers: batches applied, runs completed, held and decided about."""
