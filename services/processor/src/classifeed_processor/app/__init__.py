"""The use cases of the processor, one a file."""
