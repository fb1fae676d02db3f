"""The terminal: output, confirmation, and Ctrl-C."""
