"""A service for tests of the supervisor."""
