"""Mapping of an offer's element to the offer that is sent, with its issues."""
