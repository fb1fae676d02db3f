"""The use cases of the loader, one a file."""
