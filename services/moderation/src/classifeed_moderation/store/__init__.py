"""Tables of this service and all SQL on them. Every function runs in its caller's transaction."""
