"""Verdicts about texts of offers: request them again, and apply them."""
