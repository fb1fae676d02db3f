"""All SQL of the loader."""
