"""The terminal: what is printed on it, what is confirmed there, and Ctrl-C."""
