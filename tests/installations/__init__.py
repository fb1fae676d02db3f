"""Tests with their own installation, apart from tests that share one: two installations at a time would be slower."""
