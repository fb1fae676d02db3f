"""Queries and watermarks, without any engine or wire."""
