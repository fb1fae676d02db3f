"""All SQL of the processor."""
