"""Relevance of the first hits: labelled queries over real feeds."""
