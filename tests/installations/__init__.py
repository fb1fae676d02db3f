"""Tests that have an installation of their own, apart from those that share one: two at a time would be slower."""
