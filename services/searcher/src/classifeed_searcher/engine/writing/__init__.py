"""What changes an index: documents of a client as documents of the engine, and the process that writes them."""
