"""Documents pushed by their clients, and the schemas that they are checked by."""
