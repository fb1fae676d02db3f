"""Search engines behind one interface."""
