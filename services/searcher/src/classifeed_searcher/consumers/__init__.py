"""Topics that this service reads."""
