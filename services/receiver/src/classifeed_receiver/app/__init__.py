"""The use cases of the receiver."""
