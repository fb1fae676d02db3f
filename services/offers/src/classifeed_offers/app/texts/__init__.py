"""Verdicts about texts of offers: requested again, and applied."""
