"""Connections to hosts: dialed, kept, and used again."""
