"""Uploads: the limit of open ones, and storing them so that a task loads them."""
