"""Conventions that all services share: `python -m tools.furniture` lists violations."""
