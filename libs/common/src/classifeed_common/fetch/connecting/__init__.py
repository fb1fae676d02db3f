"""Connections to hosts: dialling, keeping and reusing."""
