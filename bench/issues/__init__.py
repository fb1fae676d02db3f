"""Exports of loads with many issues."""
