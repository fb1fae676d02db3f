"""Embedded servers for development (`embedded`) and fixtures for tests (`testing`); no image of a service has it."""
