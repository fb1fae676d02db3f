"""Diagnosis of files that are not well-formed XML: faults with their positions."""
