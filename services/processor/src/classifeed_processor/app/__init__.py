"""The use cases of the processor, one per file."""
