"""Generator of new services: folder, contract, chart and tests, and entries in existing files."""
