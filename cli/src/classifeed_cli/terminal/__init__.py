"""The terminal: what is printed on it, what is asked there, and Ctrl-C."""
