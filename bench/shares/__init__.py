"""Loads of one seller during floods of another (`make bench-shares`)."""
