"""OrderedConsumer, whose effects happen exactly once, and its parts."""
