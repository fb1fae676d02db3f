"""Pages of docs/reference that are made from the code; a test compares them."""
